export { confirmMcpFile, type McpFile, readMcpFile } from './mcp-file.js'
export type { McpSignIn, McpTokenStore } from './oauth.js'
export type { OfferedPrompt } from './prompts.js'
export type { McpServer, McpServerParts, McpServerStatus } from './server.js'
export {
  type McpOauthOptions,
  type McpServerOptions,
  type McpServerSpec,
  type McpTransportName,
  readServer,
} from './server-options.js'
export type { McpSamplingHandler, McpSamplingRequest } from './server-requests.js'
export { McpServers } from './servers.js'
