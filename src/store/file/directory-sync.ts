import type { FileLayer } from './file-layer.js'

/**
 * Syncs the names in a directory to disk, once for several callers. Callers that come while a sync is in progress share
 * the next one, because it begins after their names were created. So one sync of the store's directory is enough for
 * all sessions that are created at the same moment.
 */
export function syncDirectory(files: FileLayer, path: string): Promise<void> {
  const paths = underWay.get(files) ?? new Map<string, Sync>()
  underWay.set(files, paths)
  const current = paths.get(path)
  if (current === undefined) return begin(files, paths, path)
  current.next ??= current.done.catch(() => undefined).then(() => begin(files, paths, path))
  return current.next
}

type Sync = {
  readonly done: Promise<void>
  /** The next sync. It begins when this one has ended, also if this one failed. */
  next: Promise<void> | undefined
}

const underWay = new WeakMap<FileLayer, Map<string, Sync>>()

function begin(files: FileLayer, paths: Map<string, Sync>, path: string): Promise<void> {
  const sync: Sync = { done: files.syncDirectory(path), next: undefined }
  paths.set(path, sync)
  const end = (): void => {
    if (sync.next === undefined) paths.delete(path)
  }
  sync.done.then(end, end)
  return sync.done
}
