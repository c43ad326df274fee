import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import type { ShellOutcome } from '../../tool/runtime.js'
import type { WorkspaceFileSystem } from '../files/file-system.js'
import { statIfReadable } from '../if-readable.js'
import { isInside } from '../inside.js'
import { confinementFor, type WorkspacePermit } from '../open-workspace.js'
import { SandboxUnavailableError } from '../sandbox/errors.js'
import type { SandboxMode } from '../sandbox/index.js'
import type { Scratch } from '../scratch/index.js'
import type { CallConfinement } from '../shell/confinement.js'
import { ShellClosedError, ShellDirectoryError } from '../shell/errors.js'
import type { LocalShell, WorkspaceShell } from '../shell/index.js'
import type { CommitOutcome, CopiedCommands } from './backend.js'
import { CommandCopy } from './command-copy.js'
import { WorkspaceBackendError } from './errors.js'
import { fileWithNames } from './overlay-file-system.js'

export type CopyShellOptions = {
  readonly kind: string
  readonly root: string
  readonly fileSystem: WorkspaceFileSystem
  readonly limits: CopiedCommands
  readonly sandbox: SandboxMode
  /** The scratch in which the copy is created. Both are removed together, also after the process was killed. */
  readonly scratch: Scratch
  readonly isClosed: (path: string) => boolean
  /** Paths of this machine that commands cannot open. */
  readonly masked: readonly string[]
  readonly allowHosts: readonly string[]
  /** Returns the real path of a directory of the workspace; throws for one outside. */
  readonly resolve: (path: string) => Promise<string>
  /** Opens the shell of this machine, with the copy as its workspace. */
  readonly openShell: (directory: string) => LocalShell
}

/** A shell whose commands run in the sandbox of this machine, on a copy of the files of a backend. */
export interface CopyShell extends WorkspaceShell {
  /** Returns the restrictions that the sandbox puts on the commands of a call. */
  confine(permit: WorkspacePermit): Promise<CallConfinement>
  /** Writes all changes of commands to the workspace, and commits it. Throws when it cannot have all of them. */
  commit(work: () => Promise<CommitOutcome>): Promise<CommitOutcome>
  /**
   * Ends the commands and removes the copy, including changes that the workspace cannot have. All other changes are
   * copied back first, so that the workspace can list them.
   */
  reset(): Promise<void>
}

export function createCopyShell(options: CopyShellOptions): CopyShell {
  const { root, kind } = options
  let opening: Promise<Opened> | undefined
  let current: LocalShell | undefined
  let isClosed = false
  let active = 0
  /** Messages about changes that were found when there was no command result to report them in. */
  const unsaid: string[] = []
  const take = async (copy: CommandCopy): Promise<void> => void unsaid.push(...(await copy.takeBack()))
  const isBusy = async (): Promise<boolean> => {
    const jobs = current?.jobs() ?? []
    // `readJob` resolves only after a job has ended completely.
    const running = jobs.map(({ id }) =>
      current?.readJob(id, Number.MAX_SAFE_INTEGER).then(
        ({ job }) => job.running,
        () => false,
      ),
    )
    return (await Promise.all(running)).includes(true) || active > 0
  }

  async function opened(): Promise<Opened> {
    if (isClosed) throw new ShellClosedError()
    if (options.sandbox === 'off') throw unavailable(kind, 'The session has it switched off.')
    opening ??= openCopy(options, isBusy)
    const { copy, shell } = await opening.catch((error: unknown) => {
      opening = undefined
      throw error
    })
    current = shell
    return { copy, shell }
  }

  async function begin(cwd = '.'): Promise<Opened & { readonly cwd: string }> {
    const directory = await options.resolve(cwd).catch((error: unknown) => {
      throw new ShellDirectoryError(
        `The working directory ${JSON.stringify(cwd)} is not in the workspace. ${messageOf(error)}`,
      )
    })
    const { copy, shell } = await opened()
    unsaid.push(...(await copy.bringIn()))
    return { copy, shell, cwd: join(copy.directory, directory.slice(root.length)) }
  }

  return {
    async run(command, request = {}) {
      const { copy, shell, cwd } = await begin(request.cwd)
      let outcome: ShellOutcome
      active += 1
      try {
        outcome = await shell.run(command, { ...request, cwd }).catch(explainMissing(kind))
      } finally {
        active -= 1
        await take(copy)
      }
      return { ...outcome, blocked: [...outcome.blocked, ...unsaid.splice(0)] }
    },
    async start(command, request = {}) {
      const { shell, cwd } = await begin(request.cwd)
      active += 1
      try {
        return await shell.start(command, { ...request, cwd }).catch(explainMissing(kind))
      } finally {
        active -= 1
      }
    },
    jobs: () => current?.jobs() ?? [],
    async readJob(id, from) {
      const { copy, shell } = await opened()
      const read = await shell.readJob(id, from)
      if (read.job.running) return read
      await take(copy)
      return { ...read, text: [read.text, ...unsaid.splice(0)].join('\n') }
    },
    async killJob(id) {
      const { copy, shell } = await opened()
      const job = await shell.killJob(id)
      await take(copy)
      return job
    },
    async confine(permit) {
      const { copy } = await opened()
      const { directory } = copy
      const inWorkspace = (path: string): string =>
        isInside(directory, path) ? `${root}${path.slice(directory.length)}` : path
      const entries = await options.fileSystem.list(root, options.limits.maxPaths ?? maxPaths)
      return confinementFor(
        [directory],
        options.allowHosts,
        options.masked,
        forCopy(permit, copy, inWorkspace),
        () => entries.flatMap(({ kind, name }) => (kind === 'directory' ? [join(directory, name)] : [])),
      )
    },
    async commit(work) {
      if (opening === undefined) return work()
      const { copy } = await opening
      return copy.commit(work)
    },
    async reset() {
      const before = await opening?.catch(() => undefined)
      opening = undefined
      current = undefined
      if (before === undefined) return
      await before.shell.close()
      await before.copy.takeBack()
      await before.copy.end()
      await rm(before.copy.directory, { recursive: true, force: true })
    },
    async close() {
      isClosed = true
      const before = await opening?.catch(() => undefined)
      if (before !== undefined) {
        await before.shell.close()
        await before.copy.takeBack()
        await before.copy.end()
      }
      await options.scratch.close()
    },
  }
}

type Opened = { readonly copy: CommandCopy; readonly shell: LocalShell }

const maxBytes = 4 * 1024 ** 3
const maxPaths = 250_000

async function openCopy(
  { root, fileSystem, limits, scratch, isClosed, openShell }: CopyShellOptions,
  isBusy: () => Promise<boolean>,
): Promise<Opened> {
  const own = await realpath(await scratch.dir())
  const base = dirname(own)
  const place = await mkdtemp(join(own, 'copy-'))
  const directory = join(place, basename(root))
  await mkdir(directory)
  const copy = new CommandCopy({
    fileSystem,
    root,
    directory,
    // The scratch directories can be inside the workspace.
    isClosed: (path) =>
      isClosed(path) ||
      isInside(own, path) ||
      (base !== root && isInside(root, base) && isInside(base, path)),
    isBusy,
    limits: { maxBytes: limits.maxBytes ?? maxBytes, maxPaths: limits.maxPaths ?? maxPaths },
  })
  return { copy, shell: openShell(directory) }
}

/** Returns the permit of a call for paths of the copy: each path is judged as the same path in the workspace. */
function forCopy(
  permit: WorkspacePermit,
  copy: CommandCopy,
  inWorkspace: (path: string) => string,
): WorkspacePermit {
  return {
    ...permit,
    grantsCommand: (what) =>
      permit.grantsCommand('write' in what ? { write: inWorkspace(what.write) } : what),
    unreadable: () => {
      const denied = permit.unreadable?.()
      if (denied === undefined) return undefined
      const denies = (path: string): boolean => denied.denies(path)
      const isDeniedFile = (file: string): boolean =>
        copy.namesOf(file).some(denies) ||
        (denied.outside ?? []).some((path) => denies(path) && fileAt(path) === file)
      return {
        ...denied,
        denies: (path) => {
          if (denies(inWorkspace(path))) return true
          // The copy has a separate file for each name: a file that is denied under one name is denied under all.
          const file = copy.sameFile(path)
          return file !== undefined && isDeniedFile(file)
        },
      }
    },
  }
}

function fileAt(path: string): string | undefined {
  const stat = statIfReadable(path)
  return stat && fileWithNames(stat)
}

function explainMissing(kind: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof SandboxUnavailableError ? unavailable(kind, error.message) : error
  }
}

function unavailable(kind: string, why: string): WorkspaceBackendError {
  return new WorkspaceBackendError(
    'commands_unavailable',
    `The command was not run: commands of this workspace (${kind}) run on a private copy of its files, and only a sandbox keeps them there. ${why} Work with the file tools: read, write, edit, patch, ls, glob, grep.`,
  )
}
