import type { ToolKind } from './contract.js'

export const laneNames = ['control', 'query', 'execute', 'generate'] as const
/** Where calls of one sort wait for each other. The first ones go first where lanes compete. */
export type Lane = (typeof laneNames)[number]

/** Reading and searching is `query`, everything else `execute`. The other two have the tools that a host puts there. */
export function laneOfKind(kind: ToolKind): Lane {
  return kind === 'read' || kind === 'search' || kind === 'fetch' ? 'query' : 'execute'
}
