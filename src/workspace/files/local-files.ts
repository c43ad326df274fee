import { randomBytes } from 'node:crypto'
import { realpathSync, type Stats, statSync } from 'node:fs'
import { rmdir, unlink } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import type { RuntimeFiles, WriteOptions, WriteOutcome } from '../../tool/runtime.js'
import { isInside } from '../inside.js'
import { type Access, existsOnDisk, type Permit, refuseCarrying, whyNotRead } from './access.js'
import { changeFiles } from './change-files.js'
import { type Area, type ContainedPath, containPath, type Root, rootOfReal } from './contained-path.js'
import { decodeText } from './decode-text.js'
import { FileKindError, FileNotFoundError, FileTooLargeError, PathInvalidError } from './errors.js'
import { linkedGitDirectories } from './linked-git.js'
import { kindOf, listDirectory } from './list-directory.js'
import { lockEntries, type Target } from './lock-entries.js'
import { moveFile } from './move-file.js'
import { bestMethod, type OpenMethod } from './open-directory.js'
import { type OpenEntry, openEntry, realPathOf, type Want } from './open-entry.js'
import { styleOf } from './path-style.js'
import { noProtection, protect } from './protected-path.js'
import { readSlice, readWhole, stopIfAborted } from './read-file.js'
import { refuseRange } from './refuse-range.js'
import { replaceFile, syncDirectory } from './replace-file.js'
import { fromSystem } from './system-error.js'
import { versionOf } from './version.js'

/** Options of {@link createLocalFiles}. */
export type LocalFilesOptions = {
  readonly root: string
  /** Further directories that paths can be in, as absolute paths. */
  readonly roots?: readonly string[] | undefined
  /** Returns directories that were opened while the session runs, as real paths. Called at each use. */
  readonly opened?: (() => readonly string[]) | undefined
  /** The session's scratch directory; `path` is undefined until something is written there. */
  readonly scratch?: { readonly path: string | undefined }
  /** Names (at any depth) and paths from the root that no tool can write, besides `.git`, `.capstan`, `.mcp.json`. */
  readonly protect?: readonly string[] | undefined
  /** `open`: no path is protected. Only for changes that were already checked elsewhere. */
  readonly controlFiles?: 'open' | undefined
  /** Absolute paths that must not be moved or removed with a directory above them. */
  readonly protectPaths?: readonly string[] | undefined
  readonly permit?: Permit | undefined
  /** The maximum size of a file that is read or written as a whole. */
  readonly maxFileBytes?: number | undefined
  readonly maxEntries?: number | undefined
  /** `false`: a write is acknowledged before it is on disk. */
  readonly durable?: boolean | undefined
  /** For tests: the method that other platforms use. */
  readonly method?: OpenMethod | undefined
}

/** The permissions and the abort signal of one call. */
export type ForCall = { readonly permit?: Permit; readonly signal?: AbortSignal }

/** The options of one write, with the mode of the file. */
export type ModeWriteOptions = WriteOptions & {
  /** The mode of a new file. */
  readonly mode?: number
  /** `true`: an existing file gets `mode` too. */
  readonly changeMode?: boolean
}

/** The files of a workspace, wherever they are, confined to its roots. */
export interface WorkspaceFiles extends RuntimeFiles {
  /** Writes a file. `mode` applies to a new file; an existing file keeps its own mode. */
  write(path: string, data: string | Uint8Array, options?: ModeWriteOptions): Promise<WriteOutcome>
  /** Returns the real path that a path leads to, or would lead to if it existed. Checks containment only. */
  resolve(path: string): Promise<string>
  /**
   * Returns the time of the last change of the file (ctime, which no program can set back), in milliseconds since 1970.
   * Infinity when it is unknown.
   */
  changedAt(path: string): Promise<number>
  /** Returns these files with the permissions and the signal of one call. */
  forCall(call: ForCall): WorkspaceFiles
}

/** Files on this machine's disk, confined to their roots. */
export interface LocalFiles extends WorkspaceFiles {
  /** How the gap between check and use is closed on this platform. */
  readonly method: OpenMethod
  forCall(call: ForCall): LocalFiles
}

/**
 * Creates access to files on this machine's disk that is confined to its roots.
 *
 * @example
 * const files = createLocalFiles({ root: '/srv/project' })
 * const { version } = await files.read('src/a.ts')
 * await files.write('src/a.ts', 'export {}\n', { ifVersion: version })
 */
export function createLocalFiles(options: LocalFilesOptions): LocalFiles {
  const area = areaOf(options)
  const root = area.workspace.path
  const isOpen = options.controlFiles === 'open'
  const access: Access = {
    area,
    method: options.method ?? bestMethod(root),
    protection: isOpen ? noProtection : protect(options.protect, belowRoot(root, options.protectPaths)),
    permit: options.permit ?? (() => undefined),
    durable: options.durable ?? true,
    looked: { path: undefined },
    linkedGit: async () => (isOpen ? [] : linkedGitDirectories(root)),
    // Wrapped in a function: reading the name would load its module for a session that never uses files.
    exists: (path) => !isOpen && existsOnDisk(path),
  }
  const limits = { bytes: options.maxFileBytes ?? 64 * 1024 * 1024, entries: options.maxEntries ?? 100_000 }
  return filesFor(access, limits, undefined)
}

/** Returns the paths that are below the root, relative to it. */
function belowRoot(root: string, paths: readonly string[] = []): string[] {
  return paths
    .filter((path) => path !== root && isInside(root, path))
    .map((path) => path.slice(root.length + 1))
}

type Limits = { readonly bytes: number; readonly entries: number }

const toRead: Want = { kind: 'read', follow: true }
const toWrite: Want = { kind: 'write', follow: true, makeParents: true }
const toRemove: Want = { kind: 'write', follow: false }
const toMoveHere: Want = { kind: 'write', follow: false, makeParents: true }

function filesFor(access: Access, limits: Limits, signal: AbortSignal | undefined): LocalFiles {
  const { area } = access

  const stat = async (path: string): Promise<Stats> => {
    const entry = await openEntry(access, admitted(area, path, signal), toRead)
    await entry.directory.close()
    if (entry.stat === undefined) throw new FileNotFoundError(path)
    return entry.stat
  }

  const read: LocalFiles['read'] = async (path, options = {}) => {
    const maxBytes = Math.min(options.maxBytes ?? limits.bytes, limits.bytes)
    const entry = await openEntry(access, admitted(area, path, signal), toRead)
    try {
      return await readWhole(entry, { maxBytes, signal })
    } catch (thrown) {
      throw fromSystem(thrown, path)
    } finally {
      await entry.directory.close()
    }
  }

  return {
    root: area.workspace.path,
    method: access.method,
    resolve: async (path) => realPathOf(access, containPath(area, path), true),
    changedAt: async (path) => (await stat(path)).ctimeMs,
    forCall: (call) =>
      filesFor({ ...access, permit: both(access.permit, call.permit) }, limits, call.signal ?? signal),

    stat: async (path) => {
      const found = await stat(path)
      return { kind: kindOf(found), size: found.size, mtimeMs: found.mtimeMs, mode: found.mode & 0o7777 }
    },
    whyNotRead: (path) => whyNotRead(access, path),
    list: async (path) => {
      const entry = await openEntry(access, admitted(area, path, signal), toRead)
      try {
        return await listDirectory(entry, access.method, limits.entries)
      } catch (thrown) {
        throw fromSystem(thrown, path)
      } finally {
        await entry.directory.close()
      }
    },
    read,
    readText: async (path, options) => decodeText(path, (await read(path, options)).bytes),
    readRange: async (path, start, end) => {
      refuseRange(path, start, end)
      const entry = await openEntry(access, admitted(area, path, signal), toRead)
      try {
        return await readSlice(entry, start, end, { maxBytes: limits.bytes, signal })
      } catch (thrown) {
        throw fromSystem(thrown, path)
      } finally {
        await entry.directory.close()
      }
    },

    write: async (path, data, options: ModeWriteOptions = {}) => {
      const target = admitted(area, path, signal)
      if (/[\\/]$/.test(path))
        throw new FileKindError(path, 'ends in a slash, so it names a directory; name a file')
      // Copied now, because the caller may change its bytes while the write waits for the lock.
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
      if (bytes.length > limits.bytes)
        throw new FileTooLargeError(path, bytes.length, limits.bytes, 'Write less at once.')
      const { entries, release } = await lockEntries(access, [[target, toWrite]])
      try {
        const [entry] = entries
        const { created } = await replaceFile(entry, {
          bytes,
          ifVersion: options.ifVersion,
          durable: access.durable,
          temporaryName: temporaryName(),
          mode: options.mode,
          changeMode: options.changeMode,
          signal,
        })
        const version = await versionOf(bytes)
        return { path: shortPath(area, entry.realPath), bytes: bytes.length, created, version }
      } catch (thrown) {
        throw fromSystem(thrown, path)
      } finally {
        await release()
      }
    },
    remove: async (path) => {
      const { entries, release } = await lockEntries(access, [[admitted(area, path, signal), toRemove]])
      try {
        await removeEntry(access, entries[0])
      } catch (thrown) {
        throw fromSystem(thrown, path)
      } finally {
        await release()
      }
    },
    move: async (from, to) => {
      const source: Target = [admitted(area, from, signal), toRemove]
      const target: Target = [admitted(area, to, signal), toMoveHere]
      const { entries, release } = await lockEntries(access, [source, target])
      try {
        await moveFile(access, ...entries, { temporaryName: temporaryName(), signal })
      } catch (thrown) {
        throw fromSystem(thrown, to)
      } finally {
        await release()
      }
    },
    change: async (changes) => {
      for (const { path } of changes) admitted(area, path, signal)
      // The signal is not used from here on: a partial change is worse than a late one.
      await changeFiles(filesFor(access, limits, undefined), changes)
    },
  }
}

async function removeEntry(access: Access, entry: OpenEntry): Promise<void> {
  if (entry.stat === undefined) throw new FileNotFoundError(entry.asWritten)
  const match = rootOfReal(access.area, entry.realPath)
  if (match !== undefined) refuseCarrying(access, match, entry.asWritten)
  const path = entry.directory.at(entry.name)
  // Only an empty directory: removing a whole tree requires a command, which rules judge.
  await (entry.stat.isDirectory() ? rmdir(path) : unlink(path))
  if (access.durable) await syncDirectory(entry)
}

function admitted(area: Area, path: string, signal: AbortSignal | undefined): ContainedPath {
  stopIfAborted(signal, path)
  return containPath(area, path)
}

export function both(first: Permit, second: Permit | undefined): Permit {
  if (second === undefined) return first
  return (kind, realPath) => first(kind, realPath) ?? second(kind, realPath)
}

/** Returns a path relative to the workspace where possible, in the form that tools use. */
function shortPath(area: Area, realPath: string): string {
  const match = rootOfReal(area, realPath)
  return match?.root.kind === 'workspace' ? match.names.join('/') : realPath
}

/** Returns an unguessable name with a fixed suffix, so that files of a killed process can be recognised. */
function temporaryName(): string {
  return `.${randomBytes(12).toString('hex')}.capstan-tmp`
}

function areaOf(options: LocalFilesOptions): Area {
  const workspace = rootAt('workspace', options.root)
  const fixed = [workspace, ...(options.roots ?? []).map((path) => rootAt('additional', path))]
  return {
    style: styleOf(process.platform),
    workspace,
    roots() {
      const scratch = options.scratch?.path
      const opened = options.opened?.() ?? []
      if (scratch === undefined && opened.length === 0) return fixed
      return [
        ...fixed,
        ...opened.map((path): Root => ({ kind: 'additional', path, given: path })),
        ...(scratch === undefined ? [] : [{ kind: 'scratch', path: scratch, given: scratch } as const]),
      ]
    },
  }
}

function rootAt(kind: Root['kind'], path: string): Root {
  if (kind === 'additional' && !isAbsolute(path))
    throw new PathInvalidError(path, 'a further root must be an absolute path')
  const real = realpathSync.native(path)
  if (!statSync(real).isDirectory())
    throw new FileKindError(path, 'is not a directory, so it cannot be a root')
  return { kind, path: real, given: resolve(path) }
}
