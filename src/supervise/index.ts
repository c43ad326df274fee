/** Supervision: an outside program that is told what a session does, and asked before it does it. */
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
