import { CapstanError, messageOf } from '../tool/errors.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { changedMeanwhile } from './changed-meanwhile.js'
import { pathText } from './path-text.js'

/** One change to one file, with what the file was when the change was worked out. */
export type FileChange =
  | { readonly kind: 'write'; readonly path: string; readonly after: string; readonly before: Before }
  | { readonly kind: 'create'; readonly path: string; readonly after: string }
  | { readonly kind: 'remove'; readonly path: string; readonly before: Before }
  | {
      readonly kind: 'move'
      readonly path: string
      readonly to: string
      readonly after: string
      readonly before: Before
    }

export type Before = { readonly version: string; readonly bytes: Uint8Array; readonly text: string }

/**
 * Makes all changes or none. Each is made only while its file is still what it was; when one fails, those before it are undone,
 * and what could not be undone is named. Removals come last: they alone cannot give a file its mode back.
 */
export async function changeFiles(files: RuntimeFiles, changes: readonly FileChange[]): Promise<void> {
  const ordered = [
    ...changes.filter(({ kind }) => kind !== 'remove'),
    ...changes.filter(({ kind }) => kind === 'remove'),
  ]
  const undo: Undo[] = []
  for (const change of ordered) {
    try {
      await make(files, change, undo)
    } catch (thrown) {
      const left = await undoAll(undo)
      throw failure(changedMeanwhile(thrown, change.path), change.path, undo.length, left)
    }
  }
}

type Undo = { readonly path: string; run(): Promise<unknown> }

async function make(files: RuntimeFiles, change: FileChange, undo: Undo[]): Promise<void> {
  const { path } = change
  switch (change.kind) {
    case 'write': {
      // Nothing to write is nothing to touch: a new time on an old content is a false change.
      if (change.after === change.before.text) return
      const { version } = await files.write(path, change.after, { ifVersion: change.before.version })
      undo.push({ path, run: () => files.write(path, change.before.bytes, { ifVersion: version }) })
      return
    }
    case 'create': {
      const { version } = await files.write(path, change.after, { ifVersion: null })
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
      if (change.after === change.before.text) return
      const { version } = await files.write(change.to, change.after, { ifVersion: change.before.version })
      undo.push({
        path: change.to,
        run: () => files.write(change.to, change.before.bytes, { ifVersion: version }),
      })
    }
  }
}

/** There is no removing by version, so this looks right before. */
async function removeUnchanged(files: RuntimeFiles, path: string, version: string): Promise<void> {
  const now = await files.read(path)
  if (now.version !== version)
    throw new CapstanError(
      'file_changed',
      `${pathText(path)} changed since it was read; it was left untouched.`,
    )
  await files.remove(path)
}

/** Latest first. Goes on past one that fails: the others can still be put back. */
async function undoAll(undo: readonly Undo[]): Promise<string[]> {
  const left: string[] = []
  for (const { path, run } of undo.toReversed()) {
    try {
      await run()
    } catch (thrown) {
      left.push(`${pathText(path)} (${messageOf(thrown)})`)
    }
  }
  return left
}

function failure(thrown: unknown, path: string, done: number, left: readonly string[]): CapstanError {
  const code = thrown instanceof CapstanError ? thrown.code : 'patch_write'
  const others =
    left.length > 0
      ? `These files were changed before and could not be put back: ${left.join('; ')}.`
      : done > 0
        ? 'What was changed before it was put back, so no file is changed.'
        : 'No file was changed.'
  return new CapstanError(
    code,
    `Failed to apply patch to ${pathText(path)}: ${messageOf(thrown)} ${others}`,
    {
      cause: thrown,
    },
  )
}
