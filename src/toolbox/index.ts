/** The built-in tools: the whole of `capstan/toolbox`. */
export { bashTool } from './bash.js'
export { batchTool } from './batch.js'
export { editTool } from './edit.js'
export { applyPatchTool } from './extension/apply-patch.js'
export { extensionTools } from './extension/extension-tools.js'
export { planExitTool, planTool } from './extension/plan.js'
export { repoCloneTool } from './extension/repo-clone.js'
export { repoOverviewTool } from './extension/repo-overview.js'
export { type GenerateObjectArgs, generateObjectTool } from './generate-object.js'
export { gitTool } from './git.js'
export { globTool } from './glob.js'
export { grepTool } from './grep.js'
export { lsTool } from './ls.js'
export { patchTool } from './patch.js'
export { noUser, QuestionError, questionTool } from './question.js'
export { readTool } from './read.js'
export { TodoListError, todoTool } from './todo.js'
export { toolSearchTool } from './tool-search.js'
export { createToolbox, type ToolboxOptions } from './toolbox.js'
export { WebFetchError, webFetchTool } from './web-fetch.js'
export { braveSearch } from './web-search/brave.js'
export { duckDuckGoSearch } from './web-search/duckduckgo.js'
export { exaSearch } from './web-search/exa.js'
export {
  WebSearchError,
  type WebSearchProvider,
  type WebSearchRequest,
  type WebSearchResult,
} from './web-search/provider.js'
export { searxngSearch } from './web-search/searxng.js'
export { tavilySearch } from './web-search/tavily.js'
export { createWebSearchTool, type WebSearchOptions } from './web-search.js'
export { writeTool } from './write.js'
