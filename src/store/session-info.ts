import { omitUndefined } from '../tool/omit-undefined.js'
import type { SessionRecord } from './records.js'
import type { SessionInfo } from './session-store.js'

/** Returns the information of a session for a list, from all of its records or from those at its beginning and end. */
export function sessionInfo(id: string, records: readonly SessionRecord[]): SessionInfo {
  let createdAtMs: number | undefined
  let updatedAtMs: number | undefined
  let title: string | undefined
  let workspaceRoot: string | undefined
  let labels: SessionInfo['labels']
  let parentId: string | undefined
  for (const record of records) {
    const time = timeOf(record)
    if (time !== undefined && (updatedAtMs === undefined || time > updatedAtMs)) updatedAtMs = time
    if (record.type !== 'session') continue
    createdAtMs = record.data.createdAtMs ?? createdAtMs
    title = record.data.title ?? title
    workspaceRoot = record.data.workspaceRoot ?? workspaceRoot
    labels = record.data.labels ?? labels
    parentId = record.data.parentId ?? parentId
  }
  return {
    id,
    ...omitUndefined({ createdAtMs, updatedAtMs, title, workspaceRoot }),
    ...(labels !== undefined && Object.keys(labels).length > 0 && { labels }),
    ...omitUndefined({ parentId }),
  }
}

/** Sorts newest first; at equal times by id, so that the order is stable. */
export function newestFirst(infos: readonly SessionInfo[]): SessionInfo[] {
  return infos.toSorted(
    (a, b) => (b.updatedAtMs ?? 0) - (a.updatedAtMs ?? 0) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  )
}

function timeOf(record: SessionRecord): number | undefined {
  switch (record.type) {
    case 'session':
    case 'run':
      return record.data.updatedAtMs
    case 'message':
      return record.data.createdAtMs
    case 'run_event':
      return record.data.timestampMs
    case 'checkpoint':
      return record.data.atMs
    default:
      return undefined
  }
}
