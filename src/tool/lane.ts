import type { ToolKind } from './contract.js'

export const laneNames = ['control', 'query', 'execute', 'generate'] as const
/** A class of calls with its own concurrency limit. Earlier lanes in this list have priority. */
export type Lane = (typeof laneNames)[number]

/**
 * Returns the lane of a kind: `query` for reading and searching, `execute` for everything else. Only a host puts
 * tools into the other two lanes.
 */
export function laneOfKind(kind: ToolKind): Lane {
  return kind === 'read' || kind === 'search' || kind === 'fetch' ? 'query' : 'execute'
}
