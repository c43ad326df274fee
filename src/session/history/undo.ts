import { messageOf } from '../../tool/errors.js'
import { FileNotFoundError } from '../../workspace/files/errors.js'
import type { WorkspaceFiles } from '../../workspace/files/index.js'
import { versionOf } from '../../workspace/files/version.js'
import type { SessionKernel } from '../kernel.js'
import { HistoryError } from './errors.js'
import { type ChangedFile, type ChangeSet, canBeUndone } from './file-changes.js'
import { lineStat } from './line-stat.js'
import { unifiedDiff } from './unified-diff.js'
import { isLink, maxImageBytes, noteChange, type WatchedPlace } from './watched-files.js'

/** The change of one file in a run. */
export type FileChangeInfo = {
  readonly path: string
  readonly kind: 'created' | 'modified' | 'removed' | 'unknown'
  /** The number of added and removed lines; absent for binary files, and for files that changed after the run. */
  readonly added?: number
  readonly removed?: number
  /** A unified diff from before the run to now, if it was requested and both are text. */
  readonly diff?: string
  /** Whether the change was undone. */
  readonly undone: boolean
  /** Why the change cannot be undone now; absent: it can. */
  readonly whyNot?: string
}

/** The outcome of an undo, file by file. */
export type UndoOutcome = {
  /** The id of the undo itself, with which it can be undone. */
  readonly undoId: string
  /** The run, or the undo, that was undone. */
  readonly runId: string
  readonly restored: readonly string[]
  /** The files that were not changed, each with the reason. */
  readonly refused: readonly { readonly path: string; readonly why: string }[]
}

export type ListChangesOptions = {
  /** Adds a unified diff to each change. */
  readonly diff?: boolean
}

/**
 * Returns the changes that tools made to files in a run; without an id, in the last run with changes that remain.
 * Changes by commands are not covered. Files that a run wrote without changing their content are left out.
 */
export async function listChanges(
  kernel: SessionKernel,
  runId?: string,
  options: ListChangesOptions = {},
): Promise<FileChangeInfo[]> {
  for (const set of setsFor(kernel, runId)) {
    const { workspace } = await kernel.engine.open()
    const infos: FileChangeInfo[] = []
    for (const file of set.files.values()) {
      const info = await describe(kernel, set, file, workspace.files, options)
      if (info !== undefined) infos.push(info)
    }
    if (infos.length > 0) return infos
  }
  return []
}

function setsFor({ log: { changes } }: SessionKernel, runId: string | undefined): ChangeSet[] {
  if (runId === undefined) return changes.openRuns()
  const set = changes.get(runId)
  return set === undefined ? [] : [set]
}

/**
 * Restores files to their state before a run changed them, one by one, if they are still as the run left them. Other
 * files are not changed, and are reported. Without an id it undoes the last run that has something to restore, so that
 * a run with nothing to undo, or whose files were changed since, does not prevent earlier runs from being undone.
 */
export function undo(kernel: SessionKernel, runId?: string): Promise<UndoOutcome> {
  return kernel.alone('undoing', async () => {
    const sets = setsFor(kernel, runId).filter(({ files }) => [...files.values()].some(canBeUndone))
    const [first] = sets
    if (first === undefined) throw nothingToUndo(runId)
    await kernel.log.recorder?.open()
    const refused: { path: string; why: string }[] = []
    for (const set of sets) {
      const outcome = await undoSet(kernel, set)
      refused.push(...outcome.refused)
      if (outcome.restored.length > 0) return { ...outcome, refused }
    }
    // Every file is as it was before its run.
    if (refused.length === 0 && runId === undefined) throw nothingToUndo(runId)
    return { undoId: kernel.newId(), runId: first.id, restored: [], refused }
  })
}

function nothingToUndo(runId: string | undefined): HistoryError {
  return new HistoryError(
    'nothing_to_undo',
    runId === undefined
      ? 'There is nothing to undo: no run of this session changed files through its tools, or all of it was undone.'
      : `There is nothing to undo of run '${runId}': it changed no files through its tools, or all of it was undone.`,
  )
}

async function undoSet(kernel: SessionKernel, set: ChangeSet): Promise<UndoOutcome> {
  const { workspace } = await kernel.engine.open()
  const place: WatchedPlace = { whole: workspace.files, scratch: () => workspace.scratch.path }
  const owner = { id: kernel.newId(), undoes: set.id }
  const restored: string[] = []
  const refused: { path: string; why: string }[] = []
  const note = (path: string, after: string | null): Promise<void> =>
    noteChange(place, kernel.log.changes, owner, path, after)
  for (const file of [...set.files.values()].filter(canBeUndone)) {
    const why = await putBack(kernel, set, file, workspace.files, note)
    if (why === 'unchanged') continue
    if (why === undefined) restored.push(file.path)
    else refused.push({ path: file.path, why })
  }
  return { undoId: owner.id, runId: set.id, restored, refused }
}

/** Restores one file. Returns undefined when it was restored, otherwise `unchanged` or the reason why not. */
async function putBack(
  kernel: SessionKernel,
  set: ChangeSet,
  file: ChangedFile,
  files: WorkspaceFiles,
  note: (path: string, after: string | null) => Promise<void>,
): Promise<string | undefined> {
  try {
    const now = await lookAt(files, file.path)
    const { before, path } = file
    if (before.kind === 'unknown') return `it was not saved: ${before.why}`
    if (isAsBefore(file, now)) return 'unchanged'
    const moved = whyMovedOn(kernel, set, file, now)
    if (moved !== undefined) return moved
    if (before.kind === 'none') {
      await note(path, null)
      await files.remove(path)
      await removeEmpty(files, before.madeDirectories ?? [])
      return undefined
    }
    const content = await contentOf(kernel, file)
    if (typeof content === 'string') return content
    await note(path, before.version)
    await files.write(path, content, { ifVersion: now.version ?? null, mode: before.mode })
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

type Now = { readonly version: string | undefined; readonly bytes?: Uint8Array }

async function lookAt(files: WorkspaceFiles, path: string): Promise<Now> {
  try {
    if (await isLink(files, path)) throw new Error('a link there now leads elsewhere')
    const { version, bytes } = await files.read(path)
    return { version, bytes }
  } catch (error) {
    if (error instanceof FileNotFoundError) return { version: undefined }
    throw error
  }
}

function isAsBefore({ before }: ChangedFile, { version }: Now): boolean {
  return before.kind === 'file' ? version === before.version : before.kind === 'none' && version === undefined
}

function whyMovedOn(
  { log: { changes } }: SessionKernel,
  { id }: ChangeSet,
  { path, written }: ChangedFile,
  { version }: Now,
): string | undefined {
  if (written.includes(version ?? null)) return undefined
  const later = changes.laterWriter(id, path)
  const what = version === undefined ? 'it is gone' : 'it is not what the run wrote'
  return later === undefined
    ? `${what}: another process or user changed it since`
    : `${what}: '${later}' changed it since, undo that first`
}

/** Returns the saved content, or why it is not available. */
async function contentOf(
  { log: { changes } }: SessionKernel,
  file: ChangedFile,
): Promise<Uint8Array | string> {
  const bytes = await changes.content(file)
  if (bytes === undefined) return 'its earlier content is no longer saved'
  const isIt = file.before.kind === 'file' && (await versionOf(bytes)) === file.before.version
  return isIt ? bytes : 'its saved content is damaged'
}

/** Removes directories that were created for a file, the innermost first, while they are empty. */
async function removeEmpty(files: WorkspaceFiles, directories: readonly string[]): Promise<void> {
  for (const directory of directories.toReversed()) {
    try {
      await files.remove(directory)
    } catch {
      return
    }
  }
}

/**
 * Describes a change. Returns undefined when the file is as it was before and was not restored: nothing changed then.
 */
async function describe(
  kernel: SessionKernel,
  set: ChangeSet,
  file: ChangedFile,
  files: WorkspaceFiles,
  options: ListChangesOptions,
): Promise<FileChangeInfo | undefined> {
  const { path, before, written, undone } = file
  const last = written.at(-1) ?? null
  const kind =
    before.kind === 'unknown'
      ? 'unknown'
      : last === null
        ? 'removed'
        : before.kind === 'none'
          ? 'created'
          : 'modified'
  if (before.kind === 'unknown') return { path, kind, undone, whyNot: `it was not saved: ${before.why}` }
  try {
    const now = await lookAt(files, path)
    if (isAsBefore(file, now)) return undone ? { path, kind, undone } : undefined
    const moved = whyMovedOn(kernel, set, file, now)
    if (moved !== undefined) return { path, kind, undone, whyNot: moved }
    const content = before.kind === 'none' ? new Uint8Array() : await contentOf(kernel, file)
    if (typeof content === 'string') return { path, kind, undone, whyNot: content }
    return { path, kind, undone, ...(await compared(path, content, now.bytes ?? new Uint8Array(), options)) }
  } catch (error) {
    return { path, kind, undone, whyNot: messageOf(error) }
  }
}

async function compared(
  path: string,
  before: Uint8Array,
  after: Uint8Array,
  { diff = false }: ListChangesOptions,
): Promise<Pick<FileChangeInfo, 'added' | 'removed' | 'diff'>> {
  if (before.length + after.length > 2 * maxImageBytes) return {}
  try {
    const text = new TextDecoder('utf-8', { fatal: true })
    const [old, now] = [text.decode(before), text.decode(after)]
    return { ...lineStat(old, now), ...(diff && { diff: await unifiedDiff(path, old, now) }) }
  } catch {
    // The content is not text.
    return {}
  }
}
