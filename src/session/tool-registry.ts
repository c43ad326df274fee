import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { isGovernedTool } from '../tool/contract.js'
import type { ToolDefinition } from '../tool/definition.js'
import { CapstanError } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { definitionFailed } from '../tool/published-by.js'
import { hostTools } from './host-tools.js'
import { allShown, type ShownLimits } from './shown-limits.js'

/**
 * The tools of a session: those that the model sees, and those that it can search for. Shown tools are only ever
 * appended, so that the prompt caches of providers stay valid.
 */
export class ToolRegistry {
  readonly #search: AnyTool
  readonly #limits: ShownLimits
  /** Never changed, except for computed values: sessions with the same tools share it until their tools differ. */
  #contents: Contents

  /** `search` is shown once there are tools to search for. `dormant` tools are for the host until they are offered. */
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

  /** Adds a tool, or replaces the one with its name. */
  add(tool: AnyTool): void {
    const contents = copyOf(this.#contents)
    put(contents, tool, this.#search, this.#limits)
    this.#contents = contents
  }

  /** Adds the tools of a server: all are shown if they fit, otherwise all can only be found by search. */
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

  /** Returns false when there is no tool with that name. */
  remove(name: string): boolean {
    const isThere = this.#contents.tools.has(name)
    this.removeAll([name])
    return isThere
  }

  /** Removes the tools of a server, which can be thousands: copies the contents once. */
  removeAll(names: readonly string[]): void {
    const { tools } = this.#contents
    const removed = new Set(names.filter((name) => tools.has(name)))
    if (removed.size === 0) return
    const { shown, ...copy } = copyOf(this.#contents)
    for (const name of removed) {
      copy.tools.delete(name)
      copy.governed.delete(name)
      copy.among?.delete(name)
    }
    this.#contents = { ...copy, shown: shown.filter((name) => !removed.has(name)) }
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

  /** Whether this is one of the tools that only the host can call. */
  isHostTool(tool: AnyTool): boolean {
    return hostTools.get(tool.name) === tool
  }

  /**
   * Returns the tool that a model calls by its exact name. If it could only be found by search, it is shown from the
   * next round.
   */
  called(name: string): AnyTool | undefined {
    if (isToBeFound(this.#contents, name)) this.offer([name])
    return this.get(name)
  }

  /** Shows tools from the next round. */
  offer(names: readonly string[]): void {
    const { tools, shown } = this.#contents
    const more = names.filter((name) => tools.has(name) && !shown.includes(name))
    if (more.length === 0) return
    const contents = copyOf(this.#contents)
    contents.shown.push(...new Set(more))
    // A tool whose definition is not known yet would be missing from this list until tools are added or removed.
    if (contents.governed.size === tools.size) contents.searchable = searchableIn(this.#contents)
    this.#contents = contents
  }

  /**
   * Returns the definitions that the model reads; the same objects while the tools are the same. A tool whose
   * definition fails is left out and reported, and tried again the next time.
   */
  async definitions(report: (problem: string) => void = () => undefined): Promise<readonly ToolDefinition[]> {
    for (;;) {
      const contents = this.#contents
      if (contents.definitions !== undefined) return contents.definitions
      const problems = await govern(contents)
      // Tools may have been added or replaced in the meantime.
      if (contents !== this.#contents) continue
      for (const problem of problems) report(problem)
      const definitions = definitionsOf(contents)
      if (problems.length === 0) contents.definitions = definitions
      return definitions
    }
  }

  /** Returns the definitions of all tools that have one synchronously. */
  known(): ToolDefinition[] {
    return knownOf(this.#contents)
  }

  /** Returns the definitions of the tools that can be found by search. */
  hidden(): readonly ToolDefinition[] {
    const contents = this.#contents
    contents.hidden ??=
      contents.searchable?.filter(({ name }) => isToBeFound(contents, name)) ?? hiddenIn(contents)
    return contents.hidden
  }

  /** Returns the hidden tools and those that were found among them: the same list until tools are added or removed. */
  searchable(): readonly ToolDefinition[] {
    return searchableIn(this.#contents) ?? this.hidden()
  }
}

type Contents = {
  /** What it was created from; absent when it belongs to one session. */
  readonly begun?: Begun
  readonly dormant: readonly AnyTool[]
  readonly tools: Map<string, AnyTool>
  readonly governed: Map<string, AnyGovernedTool>
  /** In the order in which the model sees them. */
  readonly shown: string[]
  /** Definitions of tools that describe other tools: they do not change when tools are added. */
  among?: Map<string, ToolDefinition>
  definitions?: readonly ToolDefinition[]
  hidden?: readonly ToolDefinition[]
  /** What was hidden before tools were offered; absent until then. */
  searchable?: readonly ToolDefinition[] | undefined
  list?: readonly AnyTool[]
}

/** What contents were created from. */
type Begun = {
  readonly tools: readonly AnyTool[]
  readonly search: AnyTool
  /** See `ShownLimits.basis`. */
  readonly basis: string
}

/**
 * Returns shared contents: most sessions of a host start with the same tools and never change them. Not shared if the
 * definition of a tool is not available synchronously.
 */
function sharedContents(
  tools: readonly AnyTool[],
  search: AnyTool,
  dormant: readonly AnyTool[],
  limits: ShownLimits,
): Contents {
  if (!tools.every(isGovernedTool)) return contentsOf(tools, search, dormant, limits)
  const begun = { tools, search, basis: limits.basis(tools) }
  for (const reference of recent) {
    const contents = reference.deref()
    if (contents?.begun !== undefined && isMadeOf(contents, contents.begun, begun, dormant)) return contents
  }
  const contents = {
    ...contentsOf(tools, search, dormant, limits),
    begun: { ...begun, tools: [...tools] },
  }
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

function isMadeOf(contents: Contents, begun: Begun, wanted: Begun, dormant: readonly AnyTool[]): boolean {
  return (
    begun.search === wanted.search &&
    begun.basis === wanted.basis &&
    isSame(begun.tools, wanted.tools) &&
    isSame(contents.dormant, dormant)
  )
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

/** Shows a tool, unless it is dormant; a replacement is shown at the position of the replaced tool. */
function place(contents: Contents, tool: AnyTool): void {
  const before = contents.tools.get(tool.name)
  set(contents, tool)
  // A replacement of a dormant tool is not dormant itself.
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

/**
 * Returns the definition with the full description, so that the search covers all of it even if a list has only the
 * beginning.
 */
function inFull(definition: ToolDefinition, tool: AnyGovernedTool | undefined): ToolDefinition {
  return tool === undefined || tool.description === definition.description
    ? definition
    : { ...definition, description: tool.description }
}

/** Returns the hidden tools and those that were found among them; undefined if that was not computed yet. */
function searchableIn({ searchable, hidden }: Contents): readonly ToolDefinition[] | undefined {
  return searchable ?? hidden
}

function hiddenIn(contents: Contents): readonly ToolDefinition[] {
  return knownOf(contents)
    .filter(({ name }) => isToBeFound(contents, name))
    .map((definition) => inFull(definition, contents.governed.get(definition.name)))
}

function knownOf({ tools, governed }: Contents): ToolDefinition[] {
  return [...tools.keys()].flatMap((name) => governed.get(name)?.definition() ?? [])
}

/** Resolves the definitions of tools that a host wrote by hand. Returns their problems. */
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
