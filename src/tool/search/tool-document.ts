import type { AnyTool, Tool } from '../contract.js'
import type { ToolDefinition } from '../definition.js'
import { omitUndefined } from '../omit-undefined.js'
import type { ToolSet } from '../tool-set.js'
import {
  type EmbeddedDocument,
  type EmbeddingModel,
  embedInBatches,
  type VectorMetadata,
} from './embedding.js'

/** The data of a tool in an index. */
export type ToolSearchDocument = {
  toolName: string
  definition: ToolDefinition
  text: string
  metadata?: VectorMetadata
}

/** How tools are described for an index. */
export type EmbedToolsOptions = {
  /** Returns the texts by which a tool is found. Default: its name, its description and its parameters. */
  content?: (tool: Tool, definition: ToolDefinition) => string | string[]
  metadata?: (tool: Tool, definition: ToolDefinition) => VectorMetadata | undefined
  /** The maximum number of concurrent batches. Default: 1. */
  concurrency?: number
}

/** A tool ready to be indexed: its document and its texts. */
export type DescribedTool = {
  readonly tool: AnyTool
  readonly document: ToolSearchDocument
  readonly texts: readonly string[]
}

/** Embeds tools: one record per tool, with one vector per text. Rejects when a definition or the model fails. */
export async function embedTools(
  model: EmbeddingModel,
  tools: readonly AnyTool[] | ToolSet,
  options: EmbedToolsOptions = {},
): Promise<EmbeddedDocument<ToolSearchDocument>[]> {
  return embedDescribed(model, await describeTools(toolsOf(tools), options), options)
}

export async function embedDescribed(
  model: EmbeddingModel,
  described: readonly DescribedTool[],
  options: EmbedToolsOptions,
): Promise<EmbeddedDocument<ToolSearchDocument>[]> {
  const embeddings = await embedInBatches(
    model,
    described.flatMap((one) => one.texts),
    options.concurrency,
  )
  let from = 0
  return described.map(({ document, texts }) => {
    const own = embeddings.slice(from, from + texts.length)
    from += texts.length
    const metadata = document.metadata === undefined ? {} : { metadata: document.metadata }
    return { id: document.toolName, document, ...metadata, embeddings: own }
  })
}

export function describeTools(
  tools: readonly AnyTool[],
  options: EmbedToolsOptions,
): Promise<DescribedTool[]> {
  return Promise.all(tools.map((tool) => describeTool(tool, options)))
}

export function toolsOf(tools: readonly AnyTool[] | ToolSet): readonly AnyTool[] {
  return Array.isArray(tools) ? tools : (tools as ToolSet).values()
}

async function describeTool(tool: AnyTool, options: EmbedToolsOptions): Promise<DescribedTool> {
  const definition = await tool.definition('')
  const texts = [options.content?.(tool as Tool, definition) ?? defaultTexts(definition)].flat()
  if (texts.length === 0) throw new TypeError(`Tool "${tool.name}" has no text to index.`)
  const metadata = options.metadata?.(tool as Tool, definition)
  const document = {
    toolName: tool.name,
    definition,
    text: texts.join('\n'),
    ...omitUndefined({ metadata }),
  }
  return { tool, document, texts }
}

function defaultTexts({ name, description, parameters }: ToolDefinition): string[] {
  return [name, description, JSON.stringify(parameters)]
}
