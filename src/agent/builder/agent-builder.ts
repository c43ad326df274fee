import { type HostEnv, randomIds, readHostEnv, systemClock } from '../../loop/host-env.js'
import { isCompletionModel } from '../../model/completion-model.js'
import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { ContextDocument, ToolChoice } from '../../tool/completion.js'
import type { AnyTool } from '../../tool/contract.js'
import type { JsonObject, JsonSchema } from '../../tool/json.js'
import { mergeMetadata } from '../../tool/metadata.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { type DynamicToolIndex, isDynamicToolIndex } from '../../tool/search/tool-index.js'
import type { VectorSearchIndex } from '../../tool/search/vector-index.js'
import { type AnySchema, isStandardSchema, parametersOf } from '../../tool/standard-schema.js'
import { ToolSet } from '../../tool/tool-set.js'
import { BuiltAgent } from './built-agent.js'
import type { DynamicContext, DynamicContextOptions } from './dynamic-context.js'
import type { AgentHook } from './hook.js'
import type { ConversationOptions, ConversationStore } from './prompt-memory.js'
import type { AgentSettings, BuilderModel, DynamicTools, DynamicToolsOptions } from './settings.js'
import { wholeNumber } from './whole-number.js'

const defaultMaxTurns = 20
const savePolicies: readonly string[] = ['message', 'turn', 'run']

/**
 * Builds an agent without a workspace from a model and the host's tools. The agent can do only what its tools do.
 *
 * @example
 * const agent = new AgentBuilder('support', model)
 *   .instructions('Answer questions about orders.')
 *   .tool(findOrder)
 *   .build()
 * const { output } = await agent.prompt('Is order 42 paid?').send()
 */
export class AgentBuilder {
  readonly #id: string
  readonly #model: BuilderModel
  readonly #instructions: string[] = []
  readonly #documents: ContextDocument[] = []
  readonly #tools = new ToolSet()
  readonly #liveSets: ToolSet[] = []
  readonly #dynamicTools: DynamicTools[] = []
  readonly #middleware: AgentMiddleware[] = []
  readonly #dynamicContexts: DynamicContext[] = []
  #given: Partial<
    Pick<AgentSettings, 'name' | 'description' | 'approvals' | 'hook' | 'memory' | 'metadata'>
  > = {}
  #request: AgentSettings['request'] = {}
  #maxTurns = defaultMaxTurns
  #env: HostEnv = {}

  constructor(id: string, model: BuilderModel) {
    const trimmed = typeof id === 'string' ? id.trim() : ''
    if (trimmed === '') throw new TypeError('An agent needs a non-empty id.')
    if (!isModel(model))
      throw new TypeError(
        `The agent "${trimmed}" needs a model: an object with completion() or answer(), for example from createModel().`,
      )
    this.#id = trimmed
    this.#model = model
  }

  name(name: string): this {
    this.#given = { ...this.#given, name }
    return this
  }

  /** Sets the description that other models read when the agent is used as a tool. */
  description(description: string): this {
    this.#given = { ...this.#given, description }
    return this
  }

  /** Adds a paragraph to the instructions. */
  instructions(text: string): this {
    this.#instructions.push(text)
    return this
  }

  /** Adds a document to every request. */
  context(text: string, id = `static_doc_${this.#documents.length}`): this {
    this.#documents.push({ id, text })
    return this
  }

  /** Adds a tool that is always offered. A later tool with the same name replaces it. */
  tool(tool: AnyTool): this {
    this.#tools.addTool(tool)
    return this
  }

  tools(tools: readonly AnyTool[] | ToolSet): this {
    this.#tools.addTools(tools)
    return this
  }

  /** Offers the current tools of a set with each request, so that tools can be added and removed. */
  useToolSet(set: ToolSet): this {
    if (!(set instanceof ToolSet)) throw new TypeError('useToolSet takes a ToolSet; for a list use tools().')
    this.#liveSets.push(set)
    return this
  }

  /** Offers the tools that a search of the index finds for the prompt. An offered tool stays until the run ends. */
  dynamicTools(index: DynamicToolIndex, options: DynamicToolsOptions): this {
    if (!isDynamicToolIndex(index))
      throw new TypeError(
        'dynamicTools takes an index with its tools, from createToolIndex(): tools of another index could not be run.',
      )
    wholeNumber('topK', options.topK, 1)
    this.#dynamicTools.push({ ...options, index })
    return this
  }

  /** Adds the documents that a search of the index finds for the newest message to each request. */
  dynamicContext<Document>(
    index: Pick<VectorSearchIndex<Document>, 'search'>,
    options: DynamicContextOptions<Document>,
  ): this {
    if (typeof index?.search !== 'function')
      throw new TypeError('dynamicContext takes an index with a search() method.')
    wholeNumber('topK', options.topK, 1)
    // Safe cast: the document type of the options is that of the index.
    this.#dynamicContexts.push({ index, options } as DynamicContext)
    return this
  }

  temperature(temperature: number): this {
    return this.#ask({ temperature })
  }

  maxTokens(maxTokens: number): this {
    return this.#ask({ maxTokens })
  }

  /** Additional parameters for the provider. */
  additionalParams(additionalParams: JsonObject): this {
    return this.#ask({ additionalParams })
  }

  toolChoice(toolChoice: ToolChoice): this {
    return this.#ask({ toolChoice })
  }

  /** Sets the schema of the answer: a Standard Schema such as Zod's, or a JSON Schema. The answer is still text. */
  outputSchema(schema: AnySchema | JsonSchema): this {
    return this.#ask({ outputSchema: isStandardSchema(schema) ? parametersOf(schema, 'output') : schema })
  }

  /** Sets the maximum number of turns with tool calls; one more answer without calls is allowed (default: 20). */
  defaultMaxTurns(turns: number): this {
    this.#maxTurns = wholeNumber('defaultMaxTurns', turns, 0)
    return this
  }

  middleware(middleware: AgentMiddleware): this {
    this.#middleware.push(middleware)
    return this
  }

  middlewares(middlewares: readonly AgentMiddleware[]): this {
    this.#middleware.push(...middlewares)
    return this
  }

  /** @deprecated Use middleware instead. */
  toolMiddleware(middleware: AgentMiddleware): this {
    return this.middleware(middleware)
  }

  /** @deprecated Use middlewares instead. */
  toolMiddlewares(middlewares: readonly AgentMiddleware[]): this {
    return this.middlewares(middlewares)
  }

  /** Sets the handler that decides about calls that need approval. Without a handler, such a call ends the run. */
  approvals(options: ToolApprovalsOptions): this {
    this.#given = { ...this.#given, approvals: options }
    return this
  }

  /** Sets the hook that observes the steps of each prompt and decides whether it continues. Replaces an earlier one. */
  hook(hook: AgentHook): this {
    this.#given = { ...this.#given, hook }
    return this
  }

  /** Sets the store for the messages of `agent.session(id)`. */
  memory(store: ConversationStore, options: ConversationOptions = {}): this {
    for (const name of ['load', 'append', 'clear'] as const)
      if (typeof store?.[name] !== 'function')
        throw new TypeError(
          `memory takes a store with the methods load, append and clear; ${name} is missing.`,
        )
    const { savePolicy = 'message' } = options
    if (!savePolicies.includes(savePolicy))
      throw new TypeError(`savePolicy is ${JSON.stringify(savePolicy)}; use ${savePolicies.join(', ')}.`)
    this.#given = { ...this.#given, memory: { store, savePolicy } }
    return this
  }

  /** Adds metadata that approval policies and tools read as `run.metadata`. Sessions and prompts can add more. */
  metadata(metadata: JsonObject): this {
    this.#given = { ...this.#given, metadata: mergeMetadata(this.#given.metadata, metadata) }
    return this
  }

  /** Sets the source of ids and time. Deterministic ones make runs repeatable. */
  hostEnv(env: HostEnv): this {
    this.#env = env
    return this
  }

  /** Builds the agent. Later changes of the builder do not affect it. */
  build(): BuiltAgent {
    const { idGenerator = randomIds, clock = systemClock } = readHostEnv(this.#env)
    return new BuiltAgent({
      ...this.#given,
      id: this.#id,
      model: this.#model,
      ...omitUndefined({
        instructions: this.#instructions.length > 0 ? this.#instructions.join('\n\n') : undefined,
      }),
      documents: [...this.#documents],
      tools: ToolSet.fromTools(this.#tools.values()),
      liveSets: [...this.#liveSets],
      dynamicTools: [...this.#dynamicTools],
      dynamicContexts: [...this.#dynamicContexts],
      request: this.#request,
      defaultMaxTurns: this.#maxTurns,
      middleware: [...this.#middleware],
      env: { idGenerator, clock },
    })
  }

  #ask(more: AgentSettings['request']): this {
    this.#request = { ...this.#request, ...more }
    return this
  }
}

function isModel(model: unknown): boolean {
  if (isCompletionModel(model)) return true
  return (
    typeof model === 'object' && model !== null && 'answer' in model && typeof model.answer === 'function'
  )
}
