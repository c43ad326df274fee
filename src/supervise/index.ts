/** Supervision: an external program that receives the events of a session and is asked before calls and prompts. */
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
