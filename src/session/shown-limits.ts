import { definitionTokens } from '../model/estimate-tokens.js'
import type { ModelFacts } from '../model/model.js'
import { type AnyTool, isGovernedTool } from '../tool/contract.js'

/** How tools of MCP servers are offered: directly while they are few, always by search, or always directly. */
export type ToolSearchMode = 'auto' | 'always' | 'never'

/** Decides which tools the model sees directly. */
export type ShownLimits = {
  /** Whether these tools can be shown in addition to those already shown. */
  fit(added: readonly AnyTool[], shown: () => readonly AnyTool[]): boolean
  /** What decides about these tools besides themselves: sessions with the same tools and basis show the same ones. */
  basis(tools: readonly AnyTool[]): string
}

export const allShown: ShownLimits = { fit: () => true, basis: () => '' }

/** The number of tools that are shown directly, whatever their size. */
const maxShown = 20
/** Or the share of the model's context window, if that allows more. */
const maxShare = 0.1
/** The assumed size of an unknown context window, in tokens. */
const assumedWindow = 128_000

/**
 * Creates limits by kind of tool. Built-in tools are always shown. Tools of servers and tools of the host are each
 * shown up to 20, or up to a tenth of the model's context window, whichever allows more.
 */
export function shownLimits(
  mode: ToolSearchMode,
  isBuiltin: (name: string) => boolean,
  facts: () => WindowFacts,
): ShownLimits {
  return new LimitsByKind(mode, isBuiltin, facts)
}

type WindowFacts = Pick<ModelFacts, 'contextTokens' | 'contextAssumed'>
type ToolKind = 'builtin' | 'server' | 'host'

class LimitsByKind implements ShownLimits {
  readonly #mode: ToolSearchMode
  readonly #isBuiltin: (name: string) => boolean
  readonly #facts: () => WindowFacts

  constructor(mode: ToolSearchMode, isBuiltin: (name: string) => boolean, facts: () => WindowFacts) {
    this.#mode = mode
    this.#isBuiltin = isBuiltin
    this.#facts = facts
  }

  fit(added: readonly AnyTool[], shown: () => readonly AnyTool[]): boolean {
    const [first] = added
    if (first === undefined || this.#mode === 'never') return true
    const kind = this.#kindOf(first)
    if (kind === 'builtin') return true
    if (kind === 'server' && this.#mode === 'always') return false
    const all = [...this.#counted(kind, shown()), ...added]
    return all.length <= maxShown || tokensOf(all) <= windowOf(this.#facts()) * maxShare
  }

  basis(tools: readonly AnyTool[]): string {
    return this.#areAlwaysShown(tools) ? '' : `${this.#mode} ${windowOf(this.#facts())}`
  }

  /** Whether all of these are shown with any model. */
  #areAlwaysShown(tools: readonly AnyTool[]): boolean {
    if (this.#mode === 'never') return true
    return (['server', 'host'] as const).every((kind) => {
      const { length } = this.#counted(kind, tools)
      return length === 0 || (length <= maxShown && !(kind === 'server' && this.#mode === 'always'))
    })
  }

  #kindOf(tool: AnyTool): ToolKind {
    return this.#isBuiltin(tool.name) ? 'builtin' : isServerTool(tool) ? 'server' : 'host'
  }

  #counted(kind: ToolKind, tools: readonly AnyTool[]): AnyTool[] {
    return tools.filter((tool) => this.#kindOf(tool) === kind)
  }
}

function isServerTool(tool: AnyTool): boolean {
  return isGovernedTool(tool) && tool.mcp !== undefined
}

function windowOf({ contextTokens, contextAssumed }: WindowFacts): number {
  return contextAssumed === true ? assumedWindow : contextTokens
}

/**
 * Estimates the tokens of definitions. A tool whose definition is not available synchronously counts as one of the
 * usual size.
 */
function tokensOf(tools: readonly AnyTool[]): number {
  return tools.reduce(
    (sum, tool) => sum + (isGovernedTool(tool) ? definitionTokens(tool.definition()) : usualTokens),
    0,
  )
}

const usualTokens = 150
