export { type ChatModelOptions, createChatModel } from './chat-model.js'
export type { ChatDialect } from './dialect.js'
export { azureEndpoint, chatEndpoint, zhipuEndpoint } from './endpoint.js'
