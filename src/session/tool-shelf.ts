import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { isGovernedTool } from '../tool/contract.js'
import type { ToolDefinition } from '../tool/definition.js'
import { governTool } from '../tool/govern.js'

/** From so many tools on a model is shown only the first of them, and finds the others by searching. */
const mostShown = 20

/**
 * The tools of a session: those that a model is shown, and those that it can find. What it is shown only ever grows, at its end, so
 * that providers can keep what they have read.
 */
export class ToolShelf {
  readonly #tools = new Map<string, AnyTool>()
  readonly #governed = new Map<string, AnyGovernedTool>()
  /** In the order in which the model sees them. */
  readonly #shown: string[] = []
  readonly #search: AnyTool
  #definitions: ToolDefinition[] | undefined
  #hidden: readonly ToolDefinition[] | undefined
  #list: readonly AnyTool[] | undefined

  /** `search` is shown once there is something to find. */
  constructor(tools: readonly AnyTool[], search: AnyTool) {
    this.#search = search
    for (const tool of tools) this.add(tool)
  }

  /** Adds a tool, or puts another in its place. */
  add(tool: AnyTool): void {
    const known = this.#tools.has(tool.name)
    this.#tools.set(tool.name, tool)
    if (isGovernedTool(tool)) this.#governed.set(tool.name, tool)
    else this.#governed.delete(tool.name)
    if (!known) this.#show(tool.name)
    this.#changed()
  }

  remove(name: string): boolean {
    const there = this.#tools.delete(name)
    this.#governed.delete(name)
    const at = this.#shown.indexOf(name)
    if (at >= 0) this.#shown.splice(at, 1)
    this.#changed()
    return there
  }

  get(name: string): AnyTool | undefined {
    return this.#tools.get(name)
  }

  names(): string[] {
    return [...this.#tools.keys()]
  }

  all(): readonly AnyTool[] {
    this.#list ??= [...this.#tools.values()]
    return this.#list
  }

  isShown(name: string): boolean {
    return this.#shown.includes(name)
  }

  shownNames(): readonly string[] {
    return this.#shown
  }

  /** Shows tools from the next round on. */
  offer(names: readonly string[]): void {
    for (const name of names)
      if (this.#tools.has(name) && !this.#shown.includes(name)) {
        this.#shown.push(name)
        this.#changed()
      }
  }

  /** What the model is told; the same objects as long as the tools are the same. */
  async definitions(): Promise<readonly ToolDefinition[]> {
    if (this.#definitions !== undefined) return this.#definitions
    await this.#govern()
    const found = this.#shown.flatMap((name) => this.#governed.get(name)?.definition() ?? [])
    this.#definitions = found
    return found
  }

  /** Of all tools that can say so at once. */
  known(): ToolDefinition[] {
    return [...this.#tools.keys()].flatMap((name) => this.#governed.get(name)?.definition() ?? [])
  }

  hidden(): readonly ToolDefinition[] {
    this.#hidden ??= this.known().filter(({ name }) => !this.#shown.includes(name))
    return this.#hidden
  }

  async #govern(): Promise<void> {
    for (const name of this.#tools.keys())
      for (;;) {
        const tool = this.#tools.get(name)
        if (tool === undefined || this.#governed.has(name)) break
        const governed = await governTool(tool)
        // Another may have taken its place meanwhile.
        if (this.#tools.get(name) === tool) this.#governed.set(name, governed)
      }
  }

  #show(name: string): void {
    if (this.#shown.length < mostShown) this.#shown.push(name)
    else if (!this.#tools.has(this.#search.name)) {
      this.#tools.set(this.#search.name, this.#search)
      if (isGovernedTool(this.#search)) this.#governed.set(this.#search.name, this.#search)
      this.#shown.push(this.#search.name)
    }
  }

  #changed(): void {
    this.#definitions = undefined
    this.#hidden = undefined
    this.#list = undefined
  }
}
