import { messageOf } from '../../tool/errors.js'
import type { FileChange } from '../../tool/runtime.js'
import { FileChangedError, FilesNotChangedError, type Left } from './errors.js'
import type { ModeWriteOptions, WorkspaceFiles } from './local-files.js'

/** A change whose new content can be bytes, with the mode for its file. */
export type MadeChange = (FileChange | WithBytes<FileChange>) & { readonly mode?: number | undefined }

type WithBytes<Change> = Change extends { readonly after: string }
  ? Omit<Change, 'after'> & { readonly after: Uint8Array }
  : never

/** The files interface that changes are made with. It has no abort signal, so that no change stops halfway. */
export type ChangingFiles = Pick<WorkspaceFiles, 'read' | 'write' | 'remove' | 'move' | 'stat'>

/**
 * Makes all changes or none. Each is made only if its file has not changed since; when one fails, the earlier ones are
 * undone, and those that could not be undone are reported. Removals come last: undoing a removal cannot restore the
 * mode of the file.
 */
export async function changeFiles(files: ChangingFiles, changes: readonly MadeChange[]): Promise<void> {
  const ordered = [
    ...changes.filter(({ kind }) => kind !== 'remove'),
    ...changes.filter(({ kind }) => kind === 'remove'),
  ]
  const undo: Undo[] = []
  for (const change of ordered) {
    try {
      await make(files, change, undo)
    } catch (thrown) {
      throw new FilesNotChangedError(change.path, thrown, undo.length, await undoAll(undo))
    }
  }
}

type Undo = { readonly path: string; run(): Promise<unknown> }

async function make(files: ChangingFiles, change: MadeChange, undo: Undo[]): Promise<void> {
  const { path } = change
  switch (change.kind) {
    case 'write': {
      const before =
        change.mode === undefined ? {} : { mode: (await files.stat(path)).mode, changeMode: true }
      const { version } = await files.write(path, change.after, {
        ...withMode(change),
        ifVersion: change.before.version,
      })
      undo.push({
        path,
        run: () => files.write(path, change.before.bytes, { ...before, ifVersion: version }),
      })
      return
    }
    case 'create': {
      const { version } = await files.write(path, change.after, {
        ...withMode(change),
        ifVersion: null,
      })
      undo.push({ path, run: () => removeUnchanged(files, path, version) })
      return
    }
    case 'remove':
      await removeUnchanged(files, path, change.before.version)
      undo.push({ path, run: () => files.write(path, change.before.bytes, { ifVersion: null }) })
      return
    case 'move': {
      await files.move(path, change.to)
      undo.push({ path, run: () => files.move(change.to, path) })
      if (change.after === undefined) return
      const { version } = await files.write(change.to, change.after, { ifVersion: change.before.version })
      undo.push({
        path: change.to,
        run: () => files.write(change.to, change.before.bytes, { ifVersion: version }),
      })
    }
  }
}

function withMode({ mode }: MadeChange): ModeWriteOptions {
  return mode === undefined ? {} : { mode, changeMode: true }
}

/** The files interface cannot remove a specific version, so the version is checked right before. */
async function removeUnchanged(files: ChangingFiles, path: string, version: string): Promise<void> {
  const now = await files.read(path)
  if (now.version !== version) throw new FileChangedError(path, version, now.version)
  await files.remove(path)
}

/** Undoes the latest change first, and continues after a failure: the others can still be undone. */
async function undoAll(undo: readonly Undo[]): Promise<Left[]> {
  const left: Left[] = []
  for (const { path, run } of undo.toReversed()) {
    try {
      await run()
    } catch (thrown) {
      left.push({ path, why: messageOf(thrown) })
    }
  }
  return left
}
