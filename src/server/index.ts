export { type CapstanServer, createServer } from './create-server.js'
export {
  type FetchHandler,
  type Listening,
  type ListenOptions,
  listen,
  toNodeListener,
} from './node-listener.js'
export type { Principal, ServerLimits, ServerOptions, ServerToken, SessionFacts } from './options.js'
