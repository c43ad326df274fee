import type { JsonSchema } from './json.js'

/** What a model is told of a tool. */
export type ToolDefinition = { name: string; description: string; parameters: JsonSchema }
