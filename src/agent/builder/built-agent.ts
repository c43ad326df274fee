import type { ContextDocument } from '../../tool/completion.js'
import type { GovernedTool, Tool, ToolCallContext } from '../../tool/contract.js'
import { mergeMetadata } from '../../tool/metadata.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import type { NormalizedToolOutput } from '../../tool/serialize.js'
import { ToolSet } from '../../tool/tool-set.js'
import { type AgentToolOptions, agentTool } from './agent-tool.js'
import { BuiltSession } from './built-session.js'
import type { ConversationContext } from './prompt-memory.js'
import { type PromptInput, PromptRequest } from './prompt-request.js'
import { type AgentSettings, allTools, staticTools } from './settings.js'

/** An agent that has no workspace: a model, its instructions, and the tools that a host gave it. Made by an `AgentBuilder`. */
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

  /** The tools that are always offered, at this moment. */
  get tools(): readonly Tool[] {
    return [...staticTools(this.#settings).values()]
  }

  prompt(input: PromptInput): PromptRequest {
    return new PromptRequest(this.#settings, input)
  }

  /** A conversation that the store of `.memory()` keeps under this id. */
  session(sessionId: string, options: Omit<ConversationContext, 'sessionId'> = {}): BuiltSession {
    const { memory, metadata: own } = this.#settings
    if (memory === undefined)
      throw new TypeError(
        `The agent "${this.id}" has no store for sessions: give the builder one with memory().`,
      )
    const id = typeof sessionId === 'string' ? sessionId.trim() : ''
    if (id === '') throw new TypeError('A session needs an id that is not blank.')
    const { userId, metadata } = options
    const context: ConversationContext = {
      sessionId: id,
      ...(userId !== undefined && { userId }),
      ...(metadata !== undefined && { metadata: mergeMetadata(metadata) }),
    }
    const settings = { ...this.#settings, metadata: mergeMetadata(own, metadata) }
    return new BuiltSession(
      memory.store,
      context,
      (input) => new PromptRequest(settings, input, { ...memory, context }),
    )
  }

  /** This agent as a tool of another: the other's model asks it, and gets its answer for a result. */
  asTool(options: AgentToolOptions): GovernedTool<{ prompt: string }, string> {
    const { id, name, description, approvals } = this.#settings
    return agentTool(
      {
        id,
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(approvals !== undefined && { approvals }),
        prompt: (text) => this.prompt(text),
      },
      options,
    )
  }

  /** A tool by its name, also of those that a search would have to find. */
  getTool(name: string): Tool | undefined {
    return allTools(this.#settings).get(name)
  }

  /** Calls a tool for the host itself, as `ToolSet.call` does: with JSON text, without asking for approval, and throwing what fails. */
  callTool(name: string, args: string, context?: ToolCallContext): Promise<string> {
    return this.#everyTool().call(name, args, context)
  }

  /** The same, with text and image blocks as the tool returned them. */
  callToolContent(name: string, args: string, context?: ToolCallContext): Promise<NormalizedToolOutput> {
    return this.#everyTool().callContent(name, args, context)
  }

  #everyTool(): ToolSet {
    return ToolSet.fromTools([...allTools(this.#settings).values()])
  }
}
