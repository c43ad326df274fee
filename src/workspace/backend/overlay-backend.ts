import { realpathSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { changeFiles, type MadeChange } from '../files/change-files.js'
import { FileChangedError, FileNotFoundError } from '../files/errors.js'
import { createLocalFiles, type LocalFiles } from '../files/local-files.js'
import type { CommitOutcome, WorkspaceBackend } from './backend.js'
import { createOverlayFileSystem, type OverlayChange, type OverlayFileSystem } from './overlay-file-system.js'

/** Options of {@link createOverlayBackend}. */
export type OverlayBackendOptions = {
  /** The maximum size of changed files in memory, in bytes. Default: 256 MiB. */
  readonly maxBytes?: number | undefined
  /** The maximum number of paths that differ from the directory, including removed ones. Default: 100,000. */
  readonly maxPaths?: number | undefined
}

/**
 * Creates a workspace on a directory of this machine whose changes stay in memory until they are committed:
 * `session.commit()` writes them all or none, `session.discard()` drops them. Commands run in the sandbox, on a private
 * copy of the directory with the changes; their changes stay in memory too.
 *
 * @example
 * const session = agent.session('.', { workspaceBackend: createOverlayBackend('/srv/project') })
 * await session.send('Rename the option.')
 * console.log(await session.commit())
 */
export function createOverlayBackend(
  directory: string,
  options: OverlayBackendOptions = {},
): WorkspaceBackend {
  const root = realpathSync(resolve(directory))
  // Tools cannot change control files in the overlay either. Changes by git commands were limited by their sandbox.
  const local = createLocalFiles({ root, controlFiles: 'open' })
  const fileSystem = createOverlayFileSystem(root, local, {
    maxBytes: options.maxBytes ?? 256 * 1024 * 1024,
    maxPaths: options.maxPaths ?? 100_000,
  })
  overlays += 1
  const id = `overlay-${overlays}`
  const relative = (path: string): string => path.slice(root.length + 1)
  return {
    kind: 'overlay',
    root,
    localRoot: root,
    open: async () => ({
      root,
      fileSystem,
      id,
      copiedCommands: {},
      commit: () => fileSystem.alone(() => commit(fileSystem, local, relative)),
      discard: () =>
        fileSystem.alone(async () => {
          const discarded = (await fileSystem.changes()).map(({ path }) => relative(path))
          fileSystem.clear()
          return { discarded }
        }),
      close: async () => undefined,
    }),
  }
}

let overlays = 0

/** Writes all changes to the disk, or none. Uses the same files interface as the tools, so that its checks apply. */
async function commit(
  fileSystem: OverlayFileSystem,
  local: LocalFiles,
  relative: (path: string) => string,
): Promise<CommitOutcome> {
  const changes = await fileSystem.changes()
  const disk = only(local, changes)
  const made: MadeChange[] = []
  for (const change of changes) made.push(...(await changeOnDisk(change, disk)))
  await changeFiles(disk, made)
  const moved = new Set(made.map(({ path }) => path))
  for (const { path } of changes.filter(({ kind, path }) => kind === 'link-removed' && !moved.has(path))) {
    // Checked again: the session must not remove a file that replaced the link while the others were written.
    if (await isLink(path)) await disk.remove(path)
  }
  // A directory that contains files created later is not removed.
  for (const { path } of changes.filter(({ kind }) => kind === 'directory').toReversed())
    await disk.remove(path).catch(() => undefined)
  fileSystem.clear()
  return {
    written: made
      .filter(({ kind }) => kind !== 'remove')
      .map((one) => relative(one.kind === 'move' ? one.to : one.path)),
    removed: made
      .filter(({ kind }) => kind === 'remove' || kind === 'move')
      .map(({ path }) => relative(path)),
  }
}

/**
 * Restricts the files of the disk to the paths of the changes. Rules judged those paths: a link that was added on the
 * way since then leads elsewhere in the workspace, where a rule can deny what the commit would do.
 */
function only(local: LocalFiles, changes: readonly OverlayChange[]): LocalFiles {
  const paths = new Set(
    changes.flatMap((change) => (change.kind === 'link' ? [change.path, change.from] : [change.path])),
  )
  return local.forCall({
    permit: (_, real) => (paths.has(real) ? undefined : 'a link was put on the way since it was changed.'),
  })
}

/** Converts a change of the overlay to changes on the disk. Throws when the disk has changed since. */
async function changeOnDisk(change: OverlayChange, local: LocalFiles): Promise<MadeChange[]> {
  const { path } = change
  if (change.kind === 'directory') return []
  if (change.kind === 'link') {
    const before = { version: '', bytes: new Uint8Array() }
    return change.from === path ? [] : [{ kind: 'move', path: change.from, to: path, before }]
  }
  if (change.kind === 'link-removed') {
    if (!(await isLink(path))) throw new FileChangedError(path, 'link', undefined)
    return []
  }
  if (change.base === null)
    return change.kind === 'removed' ? [] : [{ kind: 'create', path, after: change.bytes, mode: change.mode }]
  const now = await local.read(path).catch((thrown: unknown) => {
    throw thrown instanceof FileNotFoundError ? new FileChangedError(path, change.base, undefined) : thrown
  })
  if (now.version !== change.base) throw new FileChangedError(path, change.base, now.version)
  if (change.kind === 'removed') return [{ kind: 'remove', path, before: now }]
  const { mode } = change
  const isSameMode = ((await local.stat(path)).mode & 0o777) === (mode & 0o777)
  if (isSame(now.bytes, change.bytes) && isSameMode) return []
  return [{ kind: 'write', path, after: change.bytes, before: now, mode }]
}

async function isLink(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => undefined)
  return stat?.isSymbolicLink() === true
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}
