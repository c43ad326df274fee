import type { AnyGovernedTool } from '../tool/contract.js'
import { bashTool } from './bash.js'
import { batchTool } from './batch.js'
import { editTool } from './edit.js'
import { generateObjectTool } from './generate-object.js'
import { gitTool } from './git.js'
import { globTool } from './glob.js'
import { grepTool } from './grep.js'
import { lsTool } from './ls.js'
import { patchTool } from './patch.js'
import { questionTool } from './question.js'
import { readTool } from './read.js'
import { todoTool } from './todo.js'
import { webFetchTool } from './web-fetch.js'
import { createWebSearchTool, type WebSearchOptions } from './web-search.js'
import { writeTool } from './write.js'

/** Options of the built-in tools. */
export type ToolboxOptions = { readonly webSearch?: WebSearchOptions | undefined }

/**
 * Returns the tools that every session has, in the order in which a model sees them. They are stateless and shared by
 * all sessions, except for web search, which counts its calls. Sessions add `tool_search`; a host creates `think` with
 * `createThinkTool`.
 */
export function createToolbox(options: ToolboxOptions = {}): AnyGovernedTool[] {
  return [...fixed, options.webSearch === undefined ? noWebSearch : createWebSearchTool(options.webSearch)]
}

/** Reports that no provider is configured. It has no state, so all sessions share it. */
const noWebSearch = createWebSearchTool({})

const fixed: readonly AnyGovernedTool[] = [
  readTool,
  writeTool,
  editTool,
  patchTool,
  grepTool,
  globTool,
  lsTool,
  bashTool,
  gitTool,
  batchTool,
  todoTool,
  questionTool,
  webFetchTool,
  generateObjectTool,
]
