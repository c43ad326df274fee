import { callAsWritten } from './call-as-written.js'
import { toolResultContentToText } from './content.js'
import type { AnyTool, Tool, ToolCallContext } from './contract.js'
import type { ToolDefinition } from './definition.js'
import { messageOf, ToolCallError, ToolJsonError, ToolNotFoundError } from './errors.js'
import type { JsonValue } from './json.js'
import { assertRequirements } from './requirement-check.js'
import { type NormalizedToolOutput, normalizeToolResultOutput, parseToolArgs } from './serialize.js'

const mark = Symbol.for('capstan.toolSet')

/**
 * Tools by name, which can be called by name. A tool added under a known name replaces the old one at its position.
 * `instanceof` also recognises a set made by another copy of this package.
 *
 * @example
 * ```ts
 * const tools = ToolSet.fromTools([add])
 * await tools.call('add', '{"a": 1, "b": 2}') // '3'
 * ```
 */
export class ToolSet {
  readonly #tools = new Map<string, Tool>()

  static fromTools(tools: readonly AnyTool[]): ToolSet {
    return new ToolSet().addTools(tools)
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ToolSet) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && mark in value
  }

  /** Adds a tool. Throws when its requirements are invalid, for example with an unknown variable. */
  addTool(tool: AnyTool): this {
    if (tool.requires !== undefined) assertRequirements(tool.requires, `the tool "${tool.name}"`)
    this.#tools.set(tool.name, tool as Tool)
    return this
  }

  addTools(tools: readonly AnyTool[] | ToolSet): this {
    for (const tool of Array.isArray(tools) ? tools : (tools as ToolSet).values()) this.addTool(tool)
    return this
  }

  deleteTool(toolName: string): boolean {
    return this.#tools.delete(toolName)
  }

  contains(toolName: string): boolean {
    return this.#tools.has(toolName)
  }

  get(toolName: string): Tool | undefined {
    return this.#tools.get(toolName)
  }

  /** Returns a copy of the list of tools, in the order in which their names were first added. */
  values(): Tool[] {
    return [...this.#tools.values()]
  }

  /** Returns the definitions that a model reads, in order. A hand-written tool can adapt its own to `prompt`. */
  async getToolDefinitions(prompt = ''): Promise<ToolDefinition[]> {
    const definitions: ToolDefinition[] = []
    for (const tool of this.values()) {
      const definition = tool.definition(prompt)
      definitions.push('then' in definition ? await definition : definition)
    }
    return definitions
  }

  /**
   * Calls a tool with arguments as JSON text, coerced as in a run (`"5"` for a number), and returns its output as
   * text; images become placeholders such as `[image:image/png]`. Throws {@link ToolNotFoundError}, {@link
   * ToolJsonError} or {@link ToolCallError}. Approval policies are not consulted.
   */
  async call(toolName: string, args: string, context?: ToolCallContext): Promise<string> {
    const output = await this.callContent(toolName, args, context)
    return typeof output === 'string' ? output : toolResultContentToText(output)
  }

  /** Calls a tool like `call`, and returns text and image blocks as the tool returned them. */
  async callContent(
    toolName: string,
    args: string,
    context?: ToolCallContext,
  ): Promise<NormalizedToolOutput> {
    const tool = this.#tools.get(toolName)
    if (tool === undefined) throw new ToolNotFoundError(toolName, [...this.#tools.keys()])
    const parsed = parseArgs(toolName, args)
    try {
      return normalizeToolResultOutput(await callAsWritten(tool, parsed, context))
    } catch (thrown) {
      throw new ToolCallError(messageOf(thrown), thrown)
    }
  }
}

Object.defineProperty(ToolSet.prototype, mark, { value: true })

function parseArgs(toolName: string, args: unknown): JsonValue {
  if (typeof args !== 'string')
    throw new ToolJsonError(`The arguments of tool "${toolName}" must be JSON text.`)
  try {
    return parseToolArgs(args)
  } catch (cause) {
    throw new ToolJsonError(`The arguments of tool "${toolName}" are not JSON. ${messageOf(cause)}`, cause)
  }
}
