import { dirname, join, relative } from 'node:path'
import type { FileImage } from '../../store/records.js'
import { messageOf } from '../../tool/errors.js'
import type { FileChange, RuntimeFiles } from '../../tool/runtime.js'
import { FileNotFoundError } from '../../workspace/files/errors.js'
import type { WorkspaceFiles } from '../../workspace/files/index.js'
import { versionOf } from '../../workspace/files/version.js'
import type { ChangeOwner, FileChanges, FoundImage } from './file-changes.js'

/** Where files are read before they change. */
export type WatchedPlace = {
  /**
   * The files of the workspace, restricted only to the workspace itself: a call that can write a file need not be able
   * to read it.
   */
  readonly whole: WorkspaceFiles
  /** The session's own directory: changes in it are not recorded. */
  scratch(): string | undefined
}

/**
 * Wraps the files of one call, and records each change before it is made. Covers every tool that works through its
 * runtime, but not commands.
 */
export function watchFiles(
  files: RuntimeFiles,
  place: WatchedPlace,
  changes: FileChanges,
  owner: ChangeOwner,
): RuntimeFiles {
  const note = (path: string, after: string | null): Promise<void> =>
    noteChange(place, changes, owner, path, after)
  return {
    ...files,
    async write(path, data, options) {
      // A copy, so that the recorded version is the one that is written.
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
      await note(path, await versionOf(bytes))
      return files.write(path, bytes, options)
    },
    async remove(path) {
      await note(path, null)
      return files.remove(path)
    },
    async move(from, to) {
      await noteMove(place, note, from, to)
      return files.move(from, to)
    },
    async change(list) {
      for (const one of list) await noteOne(place, note, one)
      return files.change(list)
    },
  }
}

type Note = (path: string, after: string | null) => Promise<void>

async function noteOne(place: WatchedPlace, note: Note, change: FileChange): Promise<void> {
  if (change.kind === 'move') await noteMove(place, note, change.path, change.to)
  if (change.kind === 'remove') await note(change.path, null)
  else if (change.after !== undefined)
    await note(change.kind === 'move' ? change.to : change.path, await versionIn(change.after))
}

async function noteMove({ whole }: WatchedPlace, note: Note, from: string, to: string): Promise<void> {
  const found = await imageOf(whole, from)
  // A missing file cannot be moved.
  if (found.image.kind === 'none') return
  await note(to, found.image.kind === 'file' ? found.image.version : notAFile)
  await note(from, null)
}

/** The version of something that is not a file; no file can have it. */
const notAFile = 'not a file'

function versionIn(text: string): Promise<string> {
  return versionOf(new TextEncoder().encode(text))
}

/** Records one change under the real path, whichever way the path is spelled. */
export async function noteChange(
  { whole, scratch }: WatchedPlace,
  changes: FileChanges,
  owner: ChangeOwner,
  path: string,
  after: string | null,
): Promise<void> {
  const real = await placeOf(whole, path, after === null)
  const own = scratch()
  if (real === undefined || (own !== undefined && real.startsWith(`${own}/`))) return
  await changes.note(owner, shown(whole, real), after, () => imageOf(whole, real))
}

/**
 * Returns the real path of a changed file; for a removal, the path of the link itself. Undefined when there is none, or
 * when it is outside the workspace: the change is then refused.
 */
async function placeOf(whole: WorkspaceFiles, path: string, itself: boolean): Promise<string | undefined> {
  try {
    if (!itself) return await whole.resolve(path)
    return join(await whole.resolve(dirname(path)), lastName(path))
  } catch {
    return undefined
  }
}

function lastName(path: string): string {
  return path.replace(/[\\/]+$/, '').replace(/^.*[\\/]/, '')
}

function shown(whole: WorkspaceFiles, real: string): string {
  const path = relative(whole.root, real)
  return path.startsWith('..') || path === '' ? real : path
}

/**
 * Returns the current state of a file. Never fails: a file that cannot be saved has the reason, and is not undone
 * later.
 */
async function imageOf(whole: WorkspaceFiles, path: string): Promise<FoundImage> {
  try {
    if (await isLink(whole, path)) return cannot('it is a symbolic link')
    const { kind, size, mode } = await whole.stat(path)
    if (kind !== 'file') return cannot(`it is a ${kind}`)
    if (size > maxImageBytes) return cannot(`it has ${size} bytes, and up to ${maxImageBytes} are kept`)
    const { bytes, version } = await whole.read(path, { maxBytes: maxImageBytes })
    return { image: { kind: 'file', version, bytes: bytes.length, mode }, bytes }
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) return cannot(messageOf(error))
    return { image: await nothingAt(whole, path) }
  }
}

/** Whether there is a link at this path. */
export async function isLink(whole: WorkspaceFiles, path: string): Promise<boolean> {
  return (await whole.resolve(path)) !== (await placeOf(whole, path, true))
}

function cannot(why: string): FoundImage {
  return { image: { kind: 'unknown', why } }
}

async function nothingAt(whole: WorkspaceFiles, path: string): Promise<FileImage> {
  const missing: string[] = []
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory)) {
    try {
      await whole.stat(directory)
      break
    } catch {
      missing.unshift(shown(whole, directory))
    }
  }
  return { kind: 'none', ...(missing.length > 0 && { madeDirectories: missing }) }
}

/** The maximum size of a file whose content is saved before it is changed. */
export const maxImageBytes = 16 * 1024 * 1024
