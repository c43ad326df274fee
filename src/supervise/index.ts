/** Supervision: an outside program that receives what a session does, and is asked before it does it. */
export { SupervisionError, type SupervisionErrorCode } from './errors.js'
export {
  type AhpOptions,
  type AhpTransport,
  HttpTransport,
  StdioTransport,
  type StdioTransportOptions,
  UnixSocketTransport,
  WebSocketTransport,
} from './transport.js'
