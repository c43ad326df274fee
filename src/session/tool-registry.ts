import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { isGovernedTool } from '../tool/contract.js'
import type { ToolDefinition } from '../tool/definition.js'
import { CapstanError } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { definitionFailed } from '../tool/published-by.js'
import { hostTools } from './host-tools.js'
import { allShown, type ShownLimits } from './shown-limits.js'

/**
 * The tools of a session: those that a model is shown, and those that it can find. What it is shown only ever grows, at
 * its end, so that providers can keep what they have read.
 */
export class ToolRegistry {
  readonly #search: AnyTool
  readonly #limits: ShownLimits
  /** Never changed, except for what is computed from it: sessions with the same tools share it until theirs differ. */
  #contents: Contents

  /** `search` is shown once there is something to find. `dormant` tools are for the host until they are offered. */
  constructor(
    tools: readonly AnyTool[],
    search: AnyTool,
    dormant: readonly AnyTool[] = [],
    limits: ShownLimits = allShown,
  ) {
    this.#search = search
    this.#limits = limits
    this.#contents = sharedContents(tools, search, dormant, limits)
  }

  /** Adds a tool, or puts another in its place. */
  add(tool: AnyTool): void {
    const contents = copyOf(this.#contents)
    put(contents, tool, this.#search, this.#limits)
    this.#contents = contents
  }

  /** Adds the tools of a server: shown when all of them fit, and else all of them to be found by searching. */
  addAll(tools: readonly AnyTool[]): void {
    if (tools.length === 0) return
    const contents = copyOf(this.#contents)
    const added = tools.filter(({ name }) => !contents.tools.has(name))
    const toFind = new Set(this.#limits.fit(added, () => shownOf(contents)) ? [] : added)
    for (const tool of tools)
      if (toFind.has(tool)) putAside(contents, tool, this.#search)
      else place(contents, tool)
    this.#contents = contents
  }

  remove(name: string): boolean {
    const contents = copyOf(this.#contents)
    const there = contents.tools.delete(name)
    contents.governed.delete(name)
    contents.among?.delete(name)
    const at = contents.shown.indexOf(name)
    if (at >= 0) contents.shown.splice(at, 1)
    this.#contents = contents
    return there
  }

  get(name: string): AnyTool | undefined {
    return this.#contents.tools.get(name)
  }

  names(): string[] {
    return [...this.#contents.tools.keys()]
  }

  all(): readonly AnyTool[] {
    const contents = this.#contents
    contents.list ??= [...contents.tools.values()]
    return contents.list
  }

  isShown(name: string): boolean {
    return this.#contents.shown.includes(name)
  }

  /** Whether this is one of the tools that only a host calls. */
  isHostTool(tool: AnyTool): boolean {
    return hostTools.get(tool.name) === tool
  }

  /** The tool that a model calls by its exact name. One that was only to be found is shown from the next round on. */
  called(name: string): AnyTool | undefined {
    if (isToBeFound(this.#contents, name)) this.offer([name])
    return this.get(name)
  }

  /** Shows tools from the next round on. */
  offer(names: readonly string[]): void {
    const { tools, shown } = this.#contents
    const more = names.filter((name) => tools.has(name) && !shown.includes(name))
    if (more.length === 0) return
    const contents = copyOf(this.#contents)
    contents.shown.push(...new Set(more))
    this.#contents = contents
  }

  /**
   * The definitions that the model reads; the same objects as long as the tools are the same. A tool whose definition
   * fails is left out and reported, and asked again the next time.
   */
  async definitions(report: (problem: string) => void = () => undefined): Promise<readonly ToolDefinition[]> {
    for (;;) {
      const contents = this.#contents
      if (contents.definitions !== undefined) return contents.definitions
      const problems = await govern(contents)
      // Others may have come meanwhile, or have been replaced.
      if (contents !== this.#contents) continue
      for (const problem of problems) report(problem)
      const definitions = definitionsOf(contents)
      if (problems.length === 0) contents.definitions = definitions
      return definitions
    }
  }

  /** Of all tools that can say so at once. */
  known(): ToolDefinition[] {
    return knownOf(this.#contents)
  }

  hidden(): readonly ToolDefinition[] {
    const contents = this.#contents
    contents.hidden ??= knownOf(contents)
      .filter(({ name }) => isToBeFound(contents, name))
      .map((definition) => inFull(definition, contents.governed.get(definition.name)))
    return contents.hidden
  }
}

type Contents = {
  /** What it was made of at first; absent once it is a session's own. */
  readonly begun?: { readonly tools: readonly AnyTool[]; readonly search: AnyTool }
  readonly dormant: readonly AnyTool[]
  readonly tools: Map<string, AnyTool>
  readonly governed: Map<string, AnyGovernedTool>
  /** In the order in which the model sees them. */
  readonly shown: string[]
  /** Definitions of tools that describe others: they stay, whichever tools come later. */
  among?: Map<string, ToolDefinition>
  definitions?: readonly ToolDefinition[]
  hidden?: readonly ToolDefinition[]
  list?: readonly AnyTool[]
}

/**
 * Most sessions of a host start with the same tools, and stay with them. Tools that must be asked what they are,
 * each session asks.
 */
function sharedContents(
  tools: readonly AnyTool[],
  search: AnyTool,
  dormant: readonly AnyTool[],
  limits: ShownLimits,
): Contents {
  // Where the limits decide, they may be those of one session alone.
  if (!tools.every(isGovernedTool) || !limits.isSure(tools)) return contentsOf(tools, search, dormant, limits)
  for (const reference of recent) {
    const contents = reference.deref()
    if (contents?.begun !== undefined && isMadeOf(contents, contents.begun, tools, search, dormant))
      return contents
  }
  const contents = { ...contentsOf(tools, search, dormant, limits), begun: { tools: [...tools], search } }
  recent.unshift(new WeakRef(contents))
  recent.length = Math.min(recent.length, maxRemembered)
  return contents
}

function contentsOf(
  tools: readonly AnyTool[],
  search: AnyTool,
  dormant: readonly AnyTool[],
  limits: ShownLimits,
): Contents {
  const contents: Contents = { dormant, tools: new Map(), governed: new Map(), shown: [] }
  for (const tool of tools) put(contents, tool, search, limits)
  return contents
}

const recent: WeakRef<Contents>[] = []
const maxRemembered = 8

function isMadeOf(
  contents: Contents,
  begun: NonNullable<Contents['begun']>,
  tools: readonly AnyTool[],
  search: AnyTool,
  dormant: readonly AnyTool[],
): boolean {
  return begun.search === search && isSame(begun.tools, tools) && isSame(contents.dormant, dormant)
}

function isSame(some: readonly AnyTool[], others: readonly AnyTool[]): boolean {
  return some.length === others.length && some.every((tool, at) => tool === others[at])
}

function copyOf({ dormant, tools, governed, shown, among }: Contents): Contents {
  const copy = { dormant, tools: new Map(tools), governed: new Map(governed), shown: [...shown] }
  return among === undefined ? copy : { ...copy, among: new Map(among) }
}

function definitionsOf(contents: Contents): readonly ToolDefinition[] {
  const { shown, governed } = contents
  const tools = shown.flatMap((name) => governed.get(name) ?? [])
  const plain = tools.map((tool) => tool.definition())
  contents.among ??= new Map()
  for (const { name, definitionAmong } of tools)
    if (definitionAmong !== undefined && !contents.among.has(name))
      contents.among.set(name, definitionAmong(plain))
  return plain.map((definition) => contents.among?.get(definition.name) ?? definition)
}

function put(contents: Contents, tool: AnyTool, search: AnyTool, limits: ShownLimits): void {
  const known = contents.tools.has(tool.name)
  if (known || contents.dormant.includes(tool) || limits.fit([tool], () => shownOf(contents)))
    place(contents, tool)
  else putAside(contents, tool, search)
}

/** Shows a tool, unless it is dormant; one in the place of another is shown where that was. */
function place(contents: Contents, tool: AnyTool): void {
  const before = contents.tools.get(tool.name)
  set(contents, tool)
  // Another in the place of one that is dormant is not dormant itself.
  if (before !== undefined && !contents.dormant.includes(before)) return
  if (!contents.dormant.includes(tool)) contents.shown.push(tool.name)
}

function putAside(contents: Contents, tool: AnyTool, search: AnyTool): void {
  set(contents, tool)
  showSearch(contents, search)
}

function shownOf({ shown, tools }: Contents): AnyTool[] {
  return shown.flatMap((name) => tools.get(name) ?? [])
}

function showSearch(contents: Contents, search: AnyTool): void {
  if (contents.shown.includes(search.name)) return
  if (!contents.tools.has(search.name)) set(contents, search)
  contents.shown.push(search.name)
}

function set({ tools, governed, among }: Contents, tool: AnyTool): void {
  tools.set(tool.name, tool)
  among?.delete(tool.name)
  if (isGovernedTool(tool)) governed.set(tool.name, tool)
  else governed.delete(tool.name)
}

function isToBeFound({ dormant, tools, shown }: Contents, name: string): boolean {
  const tool = tools.get(name)
  return tool !== undefined && !shown.includes(name) && !dormant.includes(tool)
}

/** What is searched for is found by all that is said of it, also where a list has only the beginning. */
function inFull(definition: ToolDefinition, tool: AnyGovernedTool | undefined): ToolDefinition {
  return tool === undefined || tool.description === definition.description
    ? definition
    : { ...definition, description: tool.description }
}

function knownOf({ tools, governed }: Contents): ToolDefinition[] {
  return [...tools.keys()].flatMap((name) => governed.get(name)?.definition() ?? [])
}

/** Gives what is wrong with tools that a host wrote by hand. */
async function govern({ tools, governed }: Contents): Promise<string[]> {
  const problems: string[] = []
  for (const [name, tool] of tools) {
    if (governed.has(name)) continue
    try {
      governed.set(name, await governTool(tool))
    } catch (error) {
      if (!(error instanceof CapstanError) || error.code !== definitionFailed) throw error
      problems.push(error.message)
    }
  }
  return problems
}
