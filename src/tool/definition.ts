import type { JsonSchema } from './json.js'

/** A tool's name, description and input schema, as a model reads them. */
export type ToolDefinition = { name: string; description: string; parameters: JsonSchema }
