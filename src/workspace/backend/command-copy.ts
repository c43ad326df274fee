import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, rmdir, symlink, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { type FileSystemStat, systemError, type WorkspaceFileSystem } from '../files/file-system.js'
import { entriesOf } from '../files/list-directory.js'
import { bestMethod, type OpenDirectory, openDirectory } from '../files/open-directory.js'
import { tolerate } from '../files/system-error.js'
import { ShellClosedError } from '../shell/errors.js'
import { controlOf } from './control-files.js'
import { directory, isDirectory, link, other, ownSignature, signatureOf } from './entry-signature.js'
import { WorkspaceBackendError } from './errors.js'

export type CommandCopyOptions = {
  readonly fileSystem: WorkspaceFileSystem
  /** The workspace, as the file system names it. */
  readonly root: string
  /** An empty private directory of this machine, as a real path. */
  readonly directory: string
  /** Whether a path of the workspace is closed to commands. Such files are not copied. */
  readonly isClosed: (path: string) => boolean
  /** Whether a command is running, or has ended and the repositories that it created have not been checked yet. */
  readonly isBusy: () => Promise<boolean>
  readonly limits: CopyLimits
}

/** Limits on the size of the copy of a workspace for commands. */
export type CopyLimits = {
  /** The total size of all files, in bytes. */
  readonly maxBytes: number
  readonly maxPaths: number
}

/**
 * A copy of a workspace on this machine's disk, for commands. It is synchronized in both directions: changes by tools
 * are copied in before a command, changes by commands are copied back to the workspace after it.
 *
 * A command can run while the copy is read and written, and can put a link anywhere in it. Every access goes through
 * the open directory of the entry, whose real path is compared, so that no link leads out of the copy.
 */
export class CommandCopy {
  readonly directory: string
  readonly #options: CommandCopyOptions
  readonly #method
  /** The state of both sides at each path when they were last equal. */
  readonly #known = new Map<string, Known>()
  /** Entries that commands created and that the workspace cannot have, with the signature that was last reported. */
  readonly #left = new Map<string, string>()
  /** The files of the workspace that have several names (hard links), by path. */
  readonly #sameFile = new Map<string, string>()
  #last: Promise<unknown> = Promise.resolve()
  /** Why some changes of commands are not in the workspace; undefined when all are. */
  #incomplete: string | undefined
  #isEnded = false

  constructor(options: CommandCopyOptions) {
    this.#options = options
    this.directory = options.directory
    this.#method = bestMethod(options.directory)
  }

  /** Makes the copy equal to the workspace. Changes of commands that are still running are copied back first. */
  async bringIn(): Promise<readonly string[]> {
    return this.#alone(async () => {
      if (this.#isEnded) throw new ShellClosedError()
      const messages = await this.#takeBack()
      const seen: Seen = { paths: new Set(), bytes: 0 }
      await this.#bring('', seen)
      for (const path of [...this.#known.keys()].toReversed()) {
        if (seen.paths.has(path)) continue
        await this.#inParent(path, (at, known) => this.#drop(at, known)).catch(
          tolerate(['ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'ELOOP'], undefined),
        )
        this.#known.delete(path)
        this.#sameFile.delete(path)
      }
      return messages
    })
  }

  /**
   * Writes the changes of commands to the workspace. Returns a sentence for each kind that the workspace cannot have.
   */
  async takeBack(): Promise<readonly string[]> {
    return this.#alone(() => this.#takeBack())
  }

  /**
   * Writes the changes of commands to the workspace, then commits the workspace. Throws when the workspace cannot have
   * all changes. Later, files that the commit wrote are not mistaken for changes by a tool.
   */
  async commit<T extends { readonly written: readonly string[] }>(work: () => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      await this.#takeBack()
      if (this.#incomplete !== undefined) throw new WorkspaceBackendError('overlay_full', this.#incomplete)
      const outcome = await work()
      for (const path of outcome.written) {
        const known = this.#known.get(path)
        const theirs = known && (await this.#theirsAt(path))
        if (known !== undefined && theirs !== undefined) this.#known.set(path, { ...known, theirs })
      }
      return outcome
    })
  }

  /** Stops synchronization: the copy is about to be removed, and nothing in it reaches the workspace from now on. */
  async end(): Promise<void> {
    await this.#alone(async () => {
      this.#isEnded = true
    })
  }

  /** Returns the identity of the workspace file of an entry of the copy, when that file has several names. */
  sameFile(path: string): string | undefined {
    return this.#sameFile.get(path.slice(this.directory.length + 1))
  }

  /** Returns the paths in the workspace that are names of a file. */
  namesOf(file: string): readonly string[] {
    return [...this.#sameFile].flatMap(([path, same]) => (same === file ? [this.#inWorkspace(path)] : []))
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work)
    this.#last = done.catch(() => undefined)
    return done
  }

  async #bring(path: string, seen: Seen): Promise<void> {
    const { fileSystem, isClosed, limits } = this.#options
    const entries = await fileSystem.list(this.#inWorkspace(path), limits.maxPaths)
    const own = await this.#open(path)
    const directories: string[] = []
    const bring = async (name: string): Promise<void> => {
      const below = path === '' ? name : `${path}/${name}`
      if (isClosed(this.#inWorkspace(below))) return
      const stat = await fileSystem.lstat(this.#inWorkspace(below))
      if (stat === undefined || stat.kind === 'other') return
      seen.paths.add(below)
      if (stat.kind === 'file') seen.bytes += stat.size
      if (stat.kind === 'directory') directories.push(below)
      await this.#bringEntry(own, below, stat)
    }
    try {
      for (let from = 0; from < entries.length; from += atOnce)
        await Promise.all(entries.slice(from, from + atOnce).map(({ name }) => bring(name)))
    } finally {
      await own.close()
    }
    this.#refuseLarge(seen)
    for (const below of directories) await this.#bring(below, seen)
  }

  async #bringEntry(own: OpenDirectory, path: string, stat: FileSystemStat): Promise<void> {
    const { fileSystem } = this.#options
    const source = this.#inWorkspace(path)
    const target = stat.kind === 'symlink' ? await fileSystem.readLink(source) : ''
    const theirs = signatureOf(stat, target)
    const known = this.#known.get(path)
    if (known?.theirs === theirs) return
    if (stat.sameFile === undefined) this.#sameFile.delete(path)
    else this.#sameFile.set(path, stat.sameFile)
    const at = own.at(basename(path))
    const there = await lstat(at).catch(tolerate(['ENOENT'], undefined))
    if (stat.kind === 'directory') {
      if (there !== undefined && !there.isDirectory()) await unlink(at)
      if (there?.isDirectory() !== true) await mkdir(at, 0o755)
      this.#known.set(path, { theirs, ours: directory })
      return
    }
    if (there?.isDirectory() === true) await this.#removeTree(path)
    const temporary = own.at(`.${randomBytes(12).toString('hex')}.capstan-tmp`)
    try {
      if (stat.kind === 'symlink') await symlink(target, temporary)
      else await this.#write(temporary, source, stat)
      await rename(temporary, at)
    } catch (error) {
      await unlink(temporary).catch(() => undefined)
      throw error
    }
    this.#known.set(path, { theirs, ours: await ownSignature(at) })
  }

  async #write(target: string, source: string, { size, mode, mtimeMs }: FileSystemStat): Promise<void> {
    const file = await open(target, 'wx', 0o600)
    try {
      for (let start = 0; start < size; start += chunkBytes) {
        const end = Math.min(size, start + chunkBytes)
        await file.writeFile(await this.#options.fileSystem.read(source, start, end))
      }
      await file.chmod(mode & 0o777)
      await file.utimes(mtimeMs / 1000, mtimeMs / 1000)
    } finally {
      await file.close()
    }
  }

  #refuseLarge({ bytes, paths }: Seen): void {
    const { maxBytes, maxPaths } = this.#options.limits
    if (bytes <= maxBytes && paths.size <= maxPaths) return
    throw new WorkspaceBackendError(
      'commands_unavailable',
      `The command was not run: commands work on a copy of the workspace, which has more than ${bytes > maxBytes ? `${maxBytes} bytes` : `${maxPaths} paths`}. Give the backend a higher limit, or work with the file tools.`,
    )
  }

  async #takeBack(): Promise<readonly string[]> {
    if (this.#isEnded) return []
    this.#incomplete = undefined
    const found = new Map<string, string>()
    const messages: string[] = []
    try {
      const isBusy = await this.#options.isBusy()
      messages.push(...(await this.#look('', found)))
      const repositories = new Set([...this.#known.keys()].filter((path) => basename(path) === '.git'))
      for (const [path, known] of [...this.#known].toReversed()) {
        const now = found.get(path)
        if (now === undefined || isDirectory(now) !== isDirectory(known.ours))
          messages.push(...(await this.#takeRemoval(path, known)))
      }
      let bytes = 0
      for (const [path, ours] of found) {
        const known = this.#known.get(path)
        if (known?.ours === ours || !this.#isIn(dirname(path))) continue
        const refusal = this.#refusalOf(path, ours, repositories, isBusy)
        if (refusal !== undefined) messages.push(...this.#leave(path, ours, refusal))
        else bytes += await this.#takeEntry(path, ours, known, maxChangedBytes - bytes, messages)
      }
    } catch (error) {
      // The remaining changes stay in the copy, and are copied back when there is space for them.
      this.#incomplete = `Not all changes of commands are in the workspace: ${messageOf(error)}`
      messages.push(this.#incomplete)
    }
    return messages
  }

  /** Whether both sides have a directory at a path: nothing is written below a refused entry or below a link. */
  #isIn(path: string): boolean {
    return path === '.' || this.#known.get(path)?.theirs === directory
  }

  /**
   * Collects the signature of the copy at each path, a directory before its entries. Returns a sentence for each name
   * that the workspace cannot have.
   */
  async #look(path: string, found: Map<string, string>): Promise<readonly string[]> {
    const own = await this.#open(path)
    const directories: string[] = []
    const messages: string[] = []
    try {
      const entries = await entriesOf(own, this.#options.limits.maxPaths)
      for (const { name } of entries ?? []) {
        const below = path === '' ? name : `${path}/${name}`
        const ours = await ownSignature(own.at(name)).catch(tolerate(['ENOENT'], undefined))
        if (ours === undefined) {
          if (name.includes('\ufffd')) messages.push(...this.#leave(below, 'name', 'its name is not UTF-8'))
          continue
        }
        found.set(below, ours)
        if (isDirectory(ours)) directories.push(below)
      }
      if (entries === undefined || found.size > this.#options.limits.maxPaths)
        throw systemError('EMFILE', `there are more than ${this.#options.limits.maxPaths} paths`)
    } finally {
      await own.close()
    }
    for (const below of directories)
      messages.push(...(await this.#look(below, found).catch(tolerate(['ENOENT', 'ENOTDIR', 'ELOOP'], []))))
    return messages
  }

  async #takeRemoval(path: string, known: Known): Promise<readonly string[]> {
    const { fileSystem } = this.#options
    const there = await this.#theirsAt(path)
    this.#known.delete(path)
    if (there === undefined) return []
    if (there !== known.theirs) return [changedByTools(path)]
    const refusal = controlOf(path, known.ours, true)
    if (refusal !== undefined) return this.#leave(path, 'removed', refusal)
    // A directory in which a tool created something new is not removed.
    await fileSystem.remove(this.#inWorkspace(path)).catch(tolerate(['ENOTEMPTY', 'ENOENT'], undefined))
    return []
  }

  /** Returns why the workspace cannot have an entry. `repositories`: its git directories before the command. */
  #refusalOf(
    path: string,
    ours: string,
    repositories: ReadonlySet<string>,
    isBusy: boolean,
  ): string | undefined {
    if (ours === other) return 'it is a pipe, a socket or a device'
    if (ours.startsWith(link)) return 'it is a link'
    if (this.#options.isClosed(this.#inWorkspace(path))) return 'its place is closed to commands'
    const repository = /^(?:.*\/)?\.git(?=\/|$)/.exec(path)?.[0]
    const isOld = repository !== undefined && repositories.has(repository)
    // A directory with a file HEAD can be a repository too.
    if (isBusy && !isOld && (repository !== undefined || basename(path).toLowerCase() === 'head'))
      return 'a command still runs, and repositories are examined when it ends'
    return controlOf(path, ours, isOld)
  }

  /** Reports once that an entry stays in the copy: later commands see it, tools do not. */
  #leave(path: string, ours: string, why: string): readonly string[] {
    if (this.#left.get(path) === ours) return []
    this.#left.set(path, ours)
    return [`${path} was not taken into the workspace: ${why}. Only commands see it.`]
  }

  async #takeEntry(
    path: string,
    ours: string,
    known: Known | undefined,
    room: number,
    messages: string[],
  ): Promise<number> {
    const { fileSystem } = this.#options
    const place = this.#inWorkspace(path)
    const there = await this.#theirsAt(path)
    if (isDirectory(ours)) {
      if (there === undefined) await fileSystem.makeDirectory(place)
      else if (there !== directory) messages.push(changedByTools(path))
      if (there === undefined || there === directory)
        this.#known.set(path, { theirs: directory, ours: directory })
      return 0
    }
    if (there !== known?.theirs) {
      messages.push(changedByTools(path))
      // Recorded with its current signature: the tool's file is copied in before the next command.
      this.#known.set(path, { theirs: '', ours })
      return 0
    }
    const { bytes, mode } = await this.#inParent(path, (at) => readOwn(at, room))
    await fileSystem.write(place, bytes, mode)
    this.#known.set(path, { theirs: (await this.#theirsAt(path)) ?? '', ours })
    return bytes.length
  }

  async #theirsAt(path: string): Promise<string | undefined> {
    const { fileSystem } = this.#options
    const place = this.#inWorkspace(path)
    const stat = await fileSystem.lstat(place)
    return stat && signatureOf(stat, stat.kind === 'symlink' ? await fileSystem.readLink(place) : '')
  }

  #inWorkspace(path: string): string {
    return path === '' ? this.#options.root : `${this.#options.root}/${path}`
  }

  /** Opens a directory of the copy. The caller closes it. */
  async #open(path: string): Promise<OpenDirectory> {
    const expected = path === '' ? this.directory : join(this.directory, path)
    const opened = await openDirectory(this.#method, expected)
    if (opened.realPath === expected) return opened
    await opened.close()
    throw systemError('ELOOP', 'a link is on the way')
  }

  async #inParent<T>(path: string, work: (at: string, known: Known | undefined) => Promise<T>): Promise<T> {
    const parent = dirname(path)
    const own = await this.#open(parent === '.' ? '' : parent)
    try {
      return await work(own.at(basename(path)), this.#known.get(path))
    } finally {
      await own.close()
    }
  }

  /** Removes an entry that the workspace does not have any more. */
  async #drop(at: string, known: Known | undefined): Promise<void> {
    await (known !== undefined && isDirectory(known.ours) ? rmdir(at) : unlink(at))
  }

  async #removeTree(path: string): Promise<void> {
    const own = await this.#open(path)
    try {
      for await (const { name, kind } of (await entriesOf(own, this.#options.limits.maxPaths)) ?? []) {
        const below = `${path}/${name}`
        if (kind === 'directory') await this.#removeTree(below)
        else await unlink(own.at(name))
        this.#known.delete(below)
      }
    } finally {
      await own.close()
    }
    await this.#inParent(path, (at) => rmdir(at))
    this.#known.delete(path)
  }
}

/** The signatures of the workspace (`theirs`) and the copy (`ours`) at a path. */
type Known = { readonly theirs: string; readonly ours: string }

/** The paths and the total size that were found in the workspace. */
type Seen = { readonly paths: Set<string>; bytes: number }

const atOnce = 16
const chunkBytes = 8 * 1024 * 1024
/** Limits how many bytes of one command's changes are read into memory. */
const maxChangedBytes = 256 * 1024 * 1024
const maxFileBytes = 64 * 1024 * 1024

async function readOwn(at: string, room: number): Promise<{ bytes: Uint8Array; mode: number }> {
  const file = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw systemError('EINVAL', 'it is not a file any more')
    const most = Math.min(room, maxFileBytes)
    if (stat.size > most) throw systemError('EFBIG', `a file has ${stat.size} bytes, and ${most} fit`)
    const bytes = new Uint8Array(stat.size)
    const { bytesRead } = await file.read(bytes, 0, stat.size, 0)
    return { bytes: bytes.subarray(0, bytesRead), mode: stat.mode & 0o777 }
  } finally {
    await file.close()
  }
}

function changedByTools(path: string): string {
  return `${path} was changed by a tool while commands ran: the change of the tool stays.`
}
