export { type CapstanServer, createServer } from './create-server.js'
export * from './node-listener.js'
export type { Principal, ServerLimits, ServerOptions, ServerToken, SessionFacts } from './options.js'
