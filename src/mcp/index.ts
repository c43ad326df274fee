export { confirmMcpFile, readMcpFile } from './mcp-file.js'
export type { OfferedPrompt } from './prompts.js'
export { type KnownOffer, McpServer, type McpServerParts } from './server.js'
export {
  type McpOauthOptions,
  type McpServerOptions,
  type McpServerSpec,
  type McpTransportName,
  readServer,
} from './server-options.js'
export { McpServers } from './servers.js'
