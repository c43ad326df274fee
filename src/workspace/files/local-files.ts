import { randomBytes } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { rmdir, unlink } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { CapstanError } from '../../tool/errors.js'
import type { FileStat, RuntimeFiles, WriteOptions, WriteOutcome } from '../../tool/runtime.js'
import { isInside } from '../inside.js'
import { type Access, authorise, type Permit, refuseCarrying } from './access.js'
import { changeFiles } from './change-files.js'
import { changing, type Step } from './changing.js'
import { type Area, type ContainedPath, containPath, type Root, rootOfReal } from './contained-path.js'
import { decodeText } from './decode-text.js'
import { FileKindError, FileNotFoundError, FileTooLargeError, PathInvalidError } from './errors.js'
import { linkedGitDirectories } from './linked-git.js'
import { kindOf, listDirectory } from './list-directory.js'
import { moveFile } from './move-file.js'
import { type Place, realPathOf, type Want, withPlace } from './open-contained.js'
import { bestMethod, type OpenMethod } from './open-directory.js'
import { styleOf } from './path-style.js'
import { protect } from './protected-path.js'
import { readSlice, readWhole, stopIfAborted } from './read-file.js'
import { refuseRange } from './refuse-range.js'
import { replaceFile, syncDirectory } from './replace-file.js'
import { versionOf } from './version.js'

export type LocalFilesOptions = {
  readonly root: string
  /** Further directories that paths may lie in, written as absolute paths. */
  readonly roots?: readonly string[]
  /** Directories that were opened while the session runs, as real paths; asked at each use. */
  readonly opened?: () => readonly string[]
  /** The session's scratch directory; without a path as long as nothing was put there. */
  readonly scratch?: { readonly path: string | undefined }
  /** Names (at any depth) and paths from the root that no tool may write, beside `.git`, `.capstan` and `.mcp.json`. */
  readonly protect?: readonly string[]
  /** Absolute paths that nothing may carry along when it is moved or removed. */
  readonly protectPaths?: readonly string[]
  readonly permit?: Permit
  /** The largest file that is read or written as a whole. */
  readonly maxFileBytes?: number
  readonly maxEntries?: number
  /** False: acknowledge before the disk has it. */
  readonly durable?: boolean
  /** For tests: the way other platforms go. */
  readonly method?: OpenMethod
}

export type ForCall = { readonly permit?: Permit; readonly signal?: AbortSignal }

type LocalWriteOptions = WriteOptions & { readonly mode?: number }

export interface LocalFiles extends RuntimeFiles {
  /** How the gap between check and use is closed here. */
  readonly method: OpenMethod
  /** `mode` is for a file that is made; one that is there keeps its own. */
  write(path: string, data: string | Uint8Array, options?: LocalWriteOptions): Promise<WriteOutcome>
  /** The real path that a path leads to, or would if it existed. Judged by containment only. */
  resolve(path: string): Promise<string>
  /** When the file at a path last changed in any way, which no program can set back; in milliseconds since 1970. */
  changedAt(path: string): Promise<number>
  /** The same files as one call may use them. */
  forCall(call: ForCall): LocalFiles
}

/**
 * Files on this machine's disk, held inside their roots.
 *
 * @example
 * const files = createLocalFiles({ root: '/srv/project' })
 * const { version } = await files.read('src/a.ts')
 * await files.write('src/a.ts', 'export {}\n', { ifVersion: version })
 */
export function createLocalFiles(options: LocalFilesOptions): LocalFiles {
  const area = areaOf(options)
  const root = area.workspace.path
  const access: Access = {
    area,
    method: options.method ?? bestMethod(root),
    protection: protect(options.protect, belowRoot(root, options.protectPaths)),
    permit: options.permit ?? (() => undefined),
    durable: options.durable ?? true,
    looked: { path: undefined },
    linkedGit: () => linkedGitDirectories(root),
  }
  const limits = { bytes: options.maxFileBytes ?? 64 * 1024 * 1024, entries: options.maxEntries ?? 100_000 }
  return filesFor(access, limits, undefined)
}

/** The paths that lie below the root, from there. */
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
  const at = <T>(path: string, want: Want, use: (place: Place) => Promise<T>): Promise<T> =>
    withPlace(access, admitted(area, path, signal), want, use)

  const read: LocalFiles['read'] = async (path, options = {}) => {
    const maxBytes = Math.min(options.maxBytes ?? limits.bytes, limits.bytes)
    return at(path, toRead, (place) => readWhole(place, { maxBytes, signal }))
  }

  return {
    root: area.workspace.path,
    method: access.method,
    resolve: async (path) => realPathOf(access, containPath(area, path), true),
    changedAt: async (path) =>
      at(path, toRead, async ({ stat, asWritten }) => {
        if (stat === undefined) throw new FileNotFoundError(asWritten)
        return stat.ctimeMs
      }),
    forCall: (call) =>
      filesFor({ ...access, permit: both(access.permit, call.permit) }, limits, call.signal ?? signal),

    stat: async (path) => at(path, toRead, async (place) => describe(place)),
    whyNotRead: async (path) => {
      try {
        await authorise(access, 'read', containPath(area, path).absolute, path)
        return undefined
      } catch (thrown) {
        if (thrown instanceof CapstanError) return thrown.message
        throw thrown
      }
    },
    list: async (path) => at(path, toRead, (place) => listDirectory(place, access.method, limits.entries)),
    read,
    readText: async (path, options) => decodeText(path, (await read(path, options)).bytes),
    readRange: async (path, start, end) => {
      refuseRange(path, start, end)
      return at(path, toRead, (place) => readSlice(place, start, end, { maxBytes: limits.bytes, signal }))
    },

    write: async (path, data, options: LocalWriteOptions = {}) => {
      const target = admitted(area, path, signal)
      if (/[\\/]$/.test(path))
        throw new FileKindError(path, 'ends in a slash, so it names a directory; name a file')
      // A copy now: the caller may change its bytes while the write waits its turn.
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
      if (bytes.length > limits.bytes)
        throw new FileTooLargeError(path, bytes.length, limits.bytes, 'Write less at once.')
      return changing(access, [[target, toWrite]], async ([place]) => {
        const replacement = {
          bytes,
          ifVersion: options.ifVersion,
          durable: access.durable,
          temporaryName: temporaryName(),
          mode: options.mode,
          signal,
        }
        const { created } = await replaceFile(place, replacement)
        return {
          path: shortPath(area, place.realPath),
          bytes: bytes.length,
          created,
          version: await versionOf(bytes),
        }
      })
    },
    remove: async (path) => {
      const target = admitted(area, path, signal)
      await changing(access, [[target, toRemove]], ([place]) => removeAt(access, place))
    },
    move: async (from, to) => {
      const source: Step = [admitted(area, from, signal), toRemove]
      const target: Step = [admitted(area, to, signal), toMoveHere]
      await changing(access, [source, target], ([a, b]) =>
        moveFile(access, a, b, { temporaryName: temporaryName(), signal }),
      )
    },
    change: async (changes) => {
      for (const { path } of changes) admitted(area, path, signal)
      // From here on without the signal: half a change is worse than a late one.
      await changeFiles(filesFor(access, limits, undefined), changes)
    },
  }
}

async function removeAt(access: Access, place: Place): Promise<void> {
  if (place.stat === undefined) throw new FileNotFoundError(place.asWritten)
  const match = rootOfReal(access.area, place.realPath)
  if (match !== undefined) refuseCarrying(access, match, place.asWritten)
  const path = place.directory.at(place.name)
  // Only an empty directory: taking a whole tree away is a command, to be judged as one.
  await (place.stat.isDirectory() ? rmdir(path) : unlink(path))
  if (access.durable) await syncDirectory(place)
}

function describe({ stat, asWritten }: Place): FileStat {
  if (stat === undefined) throw new FileNotFoundError(asWritten)
  return { kind: kindOf(stat), size: stat.size, mtimeMs: stat.mtimeMs, mode: stat.mode & 0o7777 }
}

function admitted(area: Area, path: string, signal: AbortSignal | undefined): ContainedPath {
  stopIfAborted(signal, path)
  return containPath(area, path)
}

function both(first: Permit, second: Permit | undefined): Permit {
  if (second === undefined) return first
  return (kind, realPath) => first(kind, realPath) ?? second(kind, realPath)
}

/** Relative where it can be: that is how paths are written back to the tools. */
function shortPath(area: Area, realPath: string): string {
  const match = rootOfReal(area, realPath)
  return match?.root.kind === 'workspace' ? match.names.join('/') : realPath
}

/** Unguessable, and of one shape, so that what a killed process leaves behind can be recognised. */
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
