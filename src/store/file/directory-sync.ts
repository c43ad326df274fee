import type { FileLayer } from './file-layer.js'

/**
 * Puts the names in a directory on disk, together for all callers. Those that come while a sync is under way share the
 * next one: it begins after their names were made, and one sync of the store's directory serves all sessions that begin
 * at the same moment.
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
  /** Begins when this one has ended, and fails by itself. */
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
