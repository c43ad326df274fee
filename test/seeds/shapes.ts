/**
 * A module that has the types of the contract, as written, and uses the values and types of the package as those types
 * say. It does not compile where the package differs. What the contract writes in a notation of its own is turned into
 * TypeScript by `asTypes`.
 */
export function shapesModule(sampleText: (name: string) => string): string {
  const notation = (name: string): string => asTypes(sampleText(name))
  const [questionInput, questionOutput] = callOf(notation('003-01-question.txt'))
  const [searchInput, searchOutput] = callOf(notation('003-02-web-search.txt'))
  const declarations = [
    ...['01-tool', '02-create-tool', '03-approval', '04-middleware', '05-tool-set', '06-dynamic-tools'],
    ...['07-think-tool', '08-serialization', '09-errors'],
  ].map((name) => sampleText(`004-${name}.ts`))
  return `import * as capstan from 'capstan'
import type * as C from 'capstan'
import type { WebSearchResult } from 'capstan/toolbox'
import { z } from 'zod'

// What the declarations take from other pages of the contract.
type ZodSchema = z.ZodType
type ToolOutput<Schema> = Schema extends z.ZodType ? z.output<Schema> : unknown
type ToolDefinition = C.ToolDefinition
type JsonObject = C.JsonObject
type JsonValue = C.JsonValue
type CompletionRequest = C.CompletionRequest
type CompletionResponse = C.CompletionResponse
type ToolResultContent = C.ToolResultContent
type VectorMetadata = C.VectorMetadata
type VectorSearchIndex<Document> = C.VectorSearchIndex<Document>
type EmbeddingModel = C.EmbeddingModel
type EmbeddedDocument<Document> = C.EmbeddedDocument<Document>

declare namespace Contract {
type PathPattern = string
type HostPattern = string
type CapabilityName = string
type QuestionInput = ${questionInput}
type QuestionOutput = ${questionOutput}
type SearchInput = ${searchInput}
type SearchOutput = ${searchOutput}
${notation('003-03-requirements.txt').replace(/^(\w+) =/gm, 'type $1 =')}
type Envelope = ${notation('003-04-envelope.txt')}
type Truncated = ${notation('003-05-truncated.txt')}
${declarations.join('\n')}
}

${checks}
`
}

/** The two halves of `name({ … }) → { … }`. */
function callOf(text: string): [input: string, output: string] {
  const [, input = '', output = ''] = /^\w+\((.*)\) → (.*)$/s.exec(text.trim()) ?? []
  return [input, output]
}

function asTypes(notation: string): string {
  return notation
    .replaceAll('<tool-specific JSON>', 'unknown')
    .replaceAll('title, url, snippet', 'title: string, url: string, snippet: string')
    .replace('"<first N bytes>", …', 'string')
    .replace(/"\/tmp\/[^"]+"/, 'string')
    .replace(/\bint\b/g, 'number')
    .replace(/\bbool\b/g, 'boolean')
}

const checks = `
/** Compiles when each type can stand where the other is expected. */
function same<A, B>(..._: [A] extends [B] ? ([B] extends [A] ? [] : ['the contract has more']) : ['the package has more']): void {}
/** Compiles when a value of the package can stand where the contract expects one. */
function fits<Theirs, Ours extends Theirs>(): Ours | undefined { return undefined }

type Args = { a: number }

// Agent-system specification
fits<readonly C.Question[], Contract.QuestionInput['questions']>()
fits<C.QuestionAnswers, Contract.QuestionOutput>()
fits<readonly WebSearchResult[], Contract.SearchOutput['results']>()
fits<{ query: string }, Contract.SearchInput>()
fits<C.RequirementSet, Contract.RequirementSet>()
fits<C.ShellRunRequirement, Contract.ShellRunRequirement>()
same<C.ArgPattern, Contract.ArgPattern>()
fits<Pick<Contract.Envelope, 'type' | 'metadata'>, C.Envelope>()
fits<Contract.Truncated['metadata'], { truncated: true; output_path: NonNullable<C.EnvelopeMetadata['output_path']> }>()

// Tools
fits<Contract.Tool<Args, string>, C.Tool<Args, string>>()
fits<C.Tool<Args, string>, Contract.Tool<Args, string>>()
fits<C.AnyTool, Contract.AnyTool>()
fits<Contract.AnyTool, C.AnyTool>()
fits<C.ToolCallStreamEvent, Contract.ToolCallStreamEvent>()
fits<Contract.ToolCallContext, C.ToolCallContext>()
fits<C.ToolCallContext, Contract.ToolCallContext>()

// createTool
const input = z.object({ a: z.number() })
const output = z.object({ b: z.string() })
declare const options: Contract.CreateToolOptions<typeof input>
declare const outputOptions: Contract.CreateToolOptions<typeof input, typeof output>
export const created: Contract.Tool<Args, unknown> = capstan.createTool(options)
export const createdWithOutput: Contract.Tool<Args, { b: string }> = capstan.createTool(outputOptions)

// Approval
fits<Contract.ToolApprovalContext<Args>, C.ToolApprovalContext<Args>>()
fits<Contract.ToolApprovalRunContext, C.ToolApprovalRunContext>()
fits<C.ToolApprovalPolicy<Args>, Contract.ToolApprovalPolicy<Args>>()
fits<Contract.ToolApprovalRequest<Args>, C.ToolApprovalRequest<Args>>()

// Middleware
fits<Contract.CompletionRequestMiddlewareArgs, C.CompletionRequestMiddlewareArgs>()
fits<C.CompletionRequestMiddlewareResult, Contract.CompletionRequestMiddlewareResult>()
fits<Contract.CompletionResponseMiddlewareArgs, C.CompletionResponseMiddlewareArgs>()
fits<C.CompletionResponseMiddlewareResult, Contract.CompletionResponseMiddlewareResult>()
fits<Contract.ToolInputMiddlewareArgs, C.ToolInputMiddlewareArgs>()
fits<C.ToolInputMiddlewareResult, Contract.ToolInputMiddlewareResult>()
fits<Contract.ToolResultMiddlewareArgs, C.ToolResultMiddlewareArgs>()
fits<Contract.ToolOutputMiddlewareArgs, C.ToolOutputMiddlewareArgs>()
fits<C.ToolOutputMiddlewareResult, Contract.ToolOutputMiddlewareResult>()
fits<C.AgentMiddleware, Contract.AgentMiddleware>()
fits<C.ToolMiddleware, Contract.ToolMiddleware>()
export const middleware: [typeof Contract.createMiddleware, typeof Contract.createToolMiddleware] = [capstan.createMiddleware, capstan.createToolMiddleware]

// ToolSet, used as the contract says: a class with private fields is only itself
declare const theirTool: Contract.Tool
declare const context: Contract.ToolCallContext
const set = capstan.ToolSet.fromTools([theirTool])
const chained: C.ToolSet = set.addTool(theirTool).addTools([theirTool]).addTools(set)
export const uses: [boolean, boolean, Contract.Tool | undefined, Contract.Tool[]] = [
  chained.deleteTool('name'),
  chained.contains('name'),
  chained.get('name'),
  chained.values(),
]
export const definitions: Promise<ToolDefinition[]>[] = [set.getToolDefinitions(), set.getToolDefinitions('prompt')]
export const called: Promise<string>[] = [set.call('name', '{}'), set.call('name', '{}', context)]
same<keyof Contract.ToolSet, Extract<keyof C.ToolSet, keyof Contract.ToolSet>>()

// Dynamic tools
fits<Contract.ToolSearchDocument, C.ToolSearchDocument>()
fits<C.EmbedToolsOptions, Contract.EmbedToolsOptions>()
fits<Omit<Contract.DynamicToolIndex, 'toolSet'> & { readonly toolSet: C.ToolSet }, C.DynamicToolIndex>()
declare const model: EmbeddingModel
export const embedded: Promise<EmbeddedDocument<Contract.ToolSearchDocument>[]>[] = [
  capstan.embedTools(model, [theirTool], {}),
  capstan.embedTools(model, set),
]
export const index: Promise<C.DynamicToolIndex>[] = [
  capstan.createToolIndex(model, [theirTool], {}),
  capstan.createToolIndex(model, set),
]
declare const value: unknown
if (capstan.isDynamicToolIndex(value)) value.toolSet.contains('name')

// createThinkTool, serialization
export const helpers: [
  typeof Contract.createThinkTool,
  typeof Contract.serializeToolOutput,
  typeof Contract.isToolResultContentArray,
  typeof Contract.normalizeToolResultOutput,
  typeof Contract.toolResultContentToText,
  typeof Contract.parseToolArgs,
] = [
  capstan.createThinkTool,
  capstan.serializeToolOutput,
  capstan.isToolResultContentArray,
  capstan.normalizeToolResultOutput,
  capstan.toolResultContentToText,
  capstan.parseToolArgs,
]
same<Contract.NormalizedToolOutput, C.NormalizedToolOutput>()

// Errors
fits<Contract.ToolCallError, C.ToolCallError>()
fits<Contract.ToolNotFoundError, C.ToolNotFoundError>()
fits<Contract.ToolJsonError, C.ToolJsonError>()
`
