import type { ToolKind } from './contract.js'

export const laneNames = ['control', 'query', 'execute', 'generate'] as const
/** A class of calls with its own concurrency limit. Earlier lanes in this list have priority. */
export type Lane = (typeof laneNames)[number]

/** Reading and searching is `query`, everything else `execute`. The other two have the tools that a host puts there. */
export function laneOfKind(kind: ToolKind): Lane {
  return kind === 'read' || kind === 'search' || kind === 'fetch' ? 'query' : 'execute'
}
