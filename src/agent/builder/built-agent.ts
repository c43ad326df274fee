import type { ContextDocument } from '../../tool/completion.js'
import type { GovernedTool, Tool, ToolCallContext } from '../../tool/contract.js'
import { mergeMetadata } from '../../tool/metadata.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { NormalizedToolOutput } from '../../tool/serialize.js'
import { ToolSet } from '../../tool/tool-set.js'
import { type AgentToolOptions, agentTool } from './agent-tool.js'
import { BuiltSession } from './built-session.js'
import type { ConversationContext } from './prompt-memory.js'
import { type PromptInput, PromptRequest } from './prompt-request.js'
import { type AgentSettings, allTools, staticTools } from './settings.js'

/** An agent without a workspace: a model, instructions, and tools of the host. Created by `AgentBuilder`. */
export class BuiltAgent {
  readonly #settings: AgentSettings
  readonly id: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly instructions: string | undefined
  readonly staticContext: readonly ContextDocument[]
  readonly middlewares: readonly AgentMiddleware[]
  readonly defaultMaxTurns: number

  constructor(settings: AgentSettings) {
    this.#settings = settings
    this.id = settings.id
    this.name = settings.name
    this.description = settings.description
    this.instructions = settings.instructions
    this.staticContext = settings.documents
    this.middlewares = settings.middleware
    this.defaultMaxTurns = settings.defaultMaxTurns
  }

  /** The tools that are currently always offered. */
  get tools(): readonly Tool[] {
    return [...staticTools(this.#settings).values()]
  }

  prompt(input: PromptInput): PromptRequest {
    return new PromptRequest(this.#settings, input)
  }

  /** Opens the conversation with this id in the store of `.memory()`. */
  session(sessionId: string, options: Omit<ConversationContext, 'sessionId'> = {}): BuiltSession {
    const { memory, metadata: own } = this.#settings
    if (memory === undefined)
      throw new TypeError(
        `The agent "${this.id}" has no store for sessions: set one with memory() of the builder.`,
      )
    const id = typeof sessionId === 'string' ? sessionId.trim() : ''
    if (id === '') throw new TypeError('A session needs a non-empty id.')
    const { userId, metadata } = options
    const context: ConversationContext = {
      sessionId: id,
      ...omitUndefined({ userId }),
      ...omitUndefined({ metadata: metadata && mergeMetadata(metadata) }),
    }
    const settings = { ...this.#settings, metadata: mergeMetadata(own, metadata) }
    return new BuiltSession(
      memory.store,
      context,
      (input) => new PromptRequest(settings, input, { ...memory, context }),
    )
  }

  /** Returns this agent as a tool for another one: the other model prompts it, and its answer is the result. */
  asTool(options: AgentToolOptions): GovernedTool<{ prompt: string }, string> {
    const { id, name, description, approvals } = this.#settings
    return agentTool(
      {
        id,
        ...omitUndefined({ name, description, approvals }),
        prompt: (text) => this.prompt(text),
      },
      options,
    )
  }

  /** Finds a tool by name, including tools that are only offered after a search. */
  getTool(name: string): Tool | undefined {
    return allTools(this.#settings).get(name)
  }

  /** Calls a tool for the host, like `ToolSet.call`: with JSON text, without approval, and throwing on failure. */
  callTool(name: string, args: string, context?: ToolCallContext): Promise<string> {
    return this.#everyTool().call(name, args, context)
  }

  /** Calls a tool like `callTool`, and returns the text and image blocks of the result. */
  callToolContent(name: string, args: string, context?: ToolCallContext): Promise<NormalizedToolOutput> {
    return this.#everyTool().callContent(name, args, context)
  }

  #everyTool(): ToolSet {
    return ToolSet.fromTools([...allTools(this.#settings).values()])
  }
}
