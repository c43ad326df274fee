import { callAsWritten } from './call-as-written.js'
import type { AnyTool, Tool, ToolCallContext } from './contract.js'
import type { ToolDefinition } from './definition.js'
import { messageOf, ToolCallError, ToolJsonError, ToolNotFoundError } from './errors.js'
import type { JsonValue } from './json.js'
import { type NormalizedToolOutput, normalizeToolResultOutput, parseToolArgs } from './serialize.js'

const mark = Symbol.for('capstan.toolSet')

/**
 * Tools by name, and the place where they are called by name. A tool added under a known name replaces the old one at its
 * place. `instanceof` recognises a set made by another copy of this package.
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

  addTool(tool: AnyTool): this {
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

  /** The tools, in the order in which their names were first added; a copy. */
  values(): Tool[] {
    return [...this.#tools.values()]
  }

  /** What a model is told of each tool, in order. `prompt` lets a tool written by hand fit its description to the turn. */
  async getToolDefinitions(prompt = ''): Promise<ToolDefinition[]> {
    const definitions: ToolDefinition[] = []
    for (const tool of this.values()) {
      const definition = tool.definition(prompt)
      definitions.push('then' in definition ? await definition : definition)
    }
    return definitions
  }

  /**
   * Calls a tool with arguments as JSON text, read as in a run (`"5"` for a number), and gives its output as text. A tool that returns text and image blocks has them
   * passed through: say `call<NormalizedToolOutput>(…)` where such tools are in the set. Throws {@link ToolNotFoundError},
   * {@link ToolJsonError} or {@link ToolCallError}. Approval policies are not consulted here.
   */
  async call<Output extends NormalizedToolOutput = string>(
    toolName: string,
    args: string,
    context?: ToolCallContext,
  ): Promise<Output> {
    const tool = this.#tools.get(toolName)
    if (tool === undefined) throw new ToolNotFoundError(toolName, [...this.#tools.keys()])
    const parsed = parseArgs(toolName, args)
    try {
      return normalizeToolResultOutput(await callAsWritten(tool, parsed, context)) as Output
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
