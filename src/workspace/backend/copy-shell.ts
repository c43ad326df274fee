import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import type { ShellOutcome } from '../../tool/runtime.js'
import type { WorkspaceFileSystem } from '../files/file-system.js'
import { isInside } from '../inside.js'
import { confinementFor, type WorkspacePermit } from '../open-workspace.js'
import { SandboxUnavailableError } from '../sandbox/errors.js'
import type { SandboxMode } from '../sandbox/index.js'
import type { Scratch } from '../scratch/index.js'
import type { CallConfinement } from '../shell/confinement.js'
import { ShellClosedError, ShellDirectoryError } from '../shell/errors.js'
import type { LocalShell, WorkspaceShell } from '../shell/index.js'
import type { CopiedCommands } from './backend.js'
import { CommandCopy } from './command-copy.js'
import { WorkspaceBackendError } from './errors.js'

export type CopyShellOptions = {
  readonly kind: string
  readonly root: string
  readonly fileSystem: WorkspaceFileSystem
  readonly limits: CopiedCommands
  readonly sandbox: SandboxMode
  /** Where the copy is made. It is removed with it, also after the process was killed. */
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
  /** What the sandbox holds the commands of a call to. */
  confine(permit: WorkspacePermit): Promise<CallConfinement>
  /** Brings all changes of commands into the workspace. Throws when it cannot have all of them. */
  settle(): Promise<void>
  /** Removes the copy, with changes that the workspace does not have. Ends its commands. */
  reset(): Promise<void>
}

export function createCopyShell(options: CopyShellOptions): CopyShell {
  const { root, kind } = options
  let opening: Promise<Opened> | undefined
  let current: LocalShell | undefined
  let isClosed = false

  async function opened(): Promise<Opened> {
    if (isClosed) throw new ShellClosedError()
    if (options.sandbox === 'off') throw unavailable(kind, 'The session has it switched off.')
    opening ??= openCopy(options)
    const { copy, shell } = await opening.catch((error: unknown) => {
      opening = undefined
      throw error
    })
    current = shell
    return { copy, shell }
  }

  async function begin(
    cwd = '.',
  ): Promise<Opened & { readonly cwd: string; readonly said: readonly string[] }> {
    const directory = await options.resolve(cwd).catch((error: unknown) => {
      throw new ShellDirectoryError(
        `The working directory ${JSON.stringify(cwd)} is not in the workspace. ${messageOf(error)}`,
      )
    })
    const { copy, shell } = await opened()
    const said = await copy.bringIn()
    return { copy, shell, said, cwd: join(copy.directory, directory.slice(root.length)) }
  }

  return {
    async run(command, request = {}) {
      const { copy, shell, cwd, said } = await begin(request.cwd)
      let outcome: ShellOutcome
      let messages: readonly string[]
      try {
        outcome = await shell.run(command, { ...request, cwd }).catch(explainMissing(kind))
      } finally {
        messages = await copy.takeBack()
      }
      return { ...outcome, blocked: [...outcome.blocked, ...said, ...messages] }
    },
    async start(command, request = {}) {
      const { shell, cwd } = await begin(request.cwd)
      return shell.start(command, { ...request, cwd }).catch(explainMissing(kind))
    },
    jobs: () => current?.jobs() ?? [],
    async readJob(id, from) {
      const { copy, shell } = await opened()
      const read = await shell.readJob(id, from)
      if (!read.job.running) await copy.takeBack()
      return read
    },
    async killJob(id) {
      const { copy, shell } = await opened()
      const job = await shell.killJob(id)
      await copy.takeBack()
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
        forCopy(permit, inWorkspace),
        () => entries.flatMap(({ kind, name }) => (kind === 'directory' ? [join(directory, name)] : [])),
      )
    },
    async settle() {
      if (opening === undefined) return
      const { copy } = await opening
      await copy.takeBack()
      if (copy.incomplete !== undefined) throw new WorkspaceBackendError('overlay_full', copy.incomplete)
    },
    async reset() {
      const before = await opening?.catch(() => undefined)
      opening = undefined
      current = undefined
      if (before === undefined) return
      await before.shell.close()
      await rm(before.copy.directory, { recursive: true, force: true })
    },
    async close() {
      isClosed = true
      const before = await opening?.catch(() => undefined)
      if (before !== undefined) {
        await before.shell.close()
        await before.copy.takeBack()
      }
      await options.scratch.close()
    },
  }
}

type Opened = { readonly copy: CommandCopy; readonly shell: LocalShell }

const maxBytes = 4 * 1024 ** 3
const maxPaths = 250_000

async function openCopy({
  root,
  fileSystem,
  limits,
  scratch,
  isClosed,
  openShell,
}: CopyShellOptions): Promise<Opened> {
  const place = await mkdtemp(join(await realpath(await scratch.dir()), 'copy-'))
  const directory = join(place, basename(root))
  await mkdir(directory)
  const copy = new CommandCopy({
    fileSystem,
    root,
    directory,
    isClosed,
    limits: { maxBytes: limits.maxBytes ?? maxBytes, maxPaths: limits.maxPaths ?? maxPaths },
  })
  return { copy, shell: openShell(directory) }
}

/** The permit of a call for paths of the copy: each is judged as the same path in the workspace. */
function forCopy(permit: WorkspacePermit, inWorkspace: (path: string) => string): WorkspacePermit {
  return {
    ...permit,
    grantsCommand: (what) =>
      permit.grantsCommand('write' in what ? { write: inWorkspace(what.write) } : what),
    unreadable: () => {
      const denied = permit.unreadable?.()
      return denied && { ...denied, denies: (path) => denied.denies(inWorkspace(path)) }
    },
  }
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
