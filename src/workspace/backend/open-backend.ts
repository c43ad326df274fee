import { posix } from 'node:path'
import { closePaths } from '../closed-paths.js'
import { findBelow, treeOn } from '../files/find-below.js'
import { followLinksOn } from '../files/follow-links.js'
import { createGuardedFiles } from '../files/guarded-files.js'
import { createLocalFiles, type LocalFiles, type WorkspaceFiles } from '../files/local-files.js'
import { isInside } from '../inside.js'
import {
  commonShellOptions,
  netFor,
  type OpenPlaces,
  openShell,
  readBy,
  refuseCommit,
  scopeOf,
  scratchFile,
  scratchFor,
  searchFor,
  shellFor,
  type Workspace,
  type WorkspaceOptions,
  withClosed,
} from '../open-workspace.js'
import { createScratch, defaultScratchBase, type Scratch } from '../scratch/index.js'
import { createFileSystemSearch } from '../search/file-system-search.js'
import type { LocalShell } from '../shell/index.js'
import type { OpenBackend, WorkspaceBackend } from './backend.js'
import { createBackendShell } from './backend-shell.js'
import { createCopyShell } from './copy-shell.js'
import { WorkspaceBackendError } from './errors.js'

/** The options of a workspace that apply on every backend. */
export type BackendWorkspaceOptions = Pick<
  WorkspaceOptions,
  | 'sandbox'
  | 'sandboxOptions'
  | 'env'
  | 'path'
  | 'limits'
  | 'network'
  | 'closed'
  | 'scratchDir'
  | 'ledgerDir'
  | 'onNotice'
>

/** Opens the workspace of a backend. It has the same interface and the same checks as a directory of this machine. */
export async function openBackendWorkspace(
  backend: WorkspaceBackend,
  options: BackendWorkspaceOptions,
): Promise<Workspace> {
  const onNotice = options.onNotice ?? (() => undefined)
  const opened = await backend.open({ onNotice })
  return workspaceOn(backend, opened, options)
}

function workspaceOn(
  { kind, localRoot }: WorkspaceBackend,
  opened: OpenBackend,
  options: BackendWorkspaceOptions,
): Workspace {
  const { fileSystem, root, commands, copiedCommands } = opened
  const scratchBase = options.scratchDir ?? defaultScratchBase()
  const scratch = createScratch({ baseDir: scratchBase })
  // The session store is on this machine, so it can be in the workspace only if the workspace is on this machine too.
  const closed = closePaths(localRoot === undefined ? [] : (options.closed ?? []), [root])
  const guarded = createGuardedFiles(fileSystem, {
    root,
    lockName: opened.id,
    permit: (_, path) => closed.refusal(path),
  })
  const files = withScratch(guarded, scratch)
  const resolve = (path: string): Promise<string> => guarded.resolve(path)
  const copyShell =
    commands === undefined && copiedCommands !== undefined
      ? createCopyShell({
          kind,
          root,
          fileSystem,
          limits: copiedCommands,
          sandbox: options.sandbox ?? 'auto',
          // Not the scratch directory of the session: commands can write to that one without the guard.
          scratch: createScratch({ baseDir: scratchBase }),
          isClosed: (path) => closed.refusal(path) !== undefined,
          masked: closePaths(options.closed ?? [], [root]).paths.filter((path) => !isInside(root, path)),
          allowHosts: options.network?.allowHosts ?? [],
          resolve,
          openShell: (directory) => shellOnCopy(directory, localRoot, scratch, options),
        })
      : undefined
  const shell =
    copyShell ??
    createBackendShell(kind, commands, {
      root,
      resolve,
      env: options.env,
      sandbox: options.sandbox ?? 'auto',
      onNotice: options.onNotice,
      scratchFile: (label) => scratchFile(scratch, label),
    })
  const scope = (): Workspace['scope'] => scopeOf([root], noPlaces, scratch.path, [], opened.home)
  let known = scope()
  return {
    backend: kind,
    root,
    files,
    shell,
    scratch,
    closed: closed.paths,
    get scope() {
      if (scratch.path !== undefined && known.variables.scratch === undefined) known = scope()
      return known
    },
    realPath: (path) => files.resolve(path).catch(() => undefined),
    followLinks: (path, follow) => followLinksOn(fileSystem, path, follow),
    findBelow: (directory, fits) => findBelow(directory, fits, treeOn(fileSystem)),
    runtimeFor: (permit, signal, hasEnded) => {
      const search = createFileSystemSearch({
        fileSystem,
        root,
        permit: readBy(withClosed(permit, closed)),
      })
      return {
        files: files.forCall({ permit: (access, path) => permit.path(access, path), signal }),
        search: searchFor(search, signal),
        shell: shellFor(shell, root, permit, signal, () => copyShell?.confine(permit), hasEnded),
        net: netFor(permit, signal, options.network?.allowPrivate),
        scratch: scratchFor(scratch, signal),
      }
    },
    startServer: async () => {
      throw new WorkspaceBackendError(
        'servers_unavailable',
        `The workspace of this session (${kind}) is not a directory of this machine, so no MCP server is started as a program for it. Use a server with a URL.`,
      )
    },
    doctor: async () => [],
    async commit() {
      const { commit } = opened
      if (commit === undefined) return refuseCommit(kind)
      return copyShell === undefined ? commit() : copyShell.commit(commit)
    },
    async discard() {
      if (opened.discard === undefined) return refuseCommit(kind)
      await copyShell?.reset()
      return opened.discard()
    },
    async close() {
      await shell.close()
      await scratch.close()
      await opened.close()
    },
  }
}

/** Opens the shell of this machine on a copy, which commands see at the path of the workspace where possible. */
function shellOnCopy(
  directory: string,
  shownAt: string | undefined,
  scratch: Scratch,
  options: BackendWorkspaceOptions,
): LocalShell {
  const common = commonShellOptions([directory], scratch, options)
  return openShell(
    {
      ...common,
      sandbox: common.sandbox === 'auto' ? 'required' : common.sandbox,
      sandboxOptions: { ...common.sandboxOptions, shownAt },
    },
    scratch,
    options,
  )
}

const noPlaces: OpenPlaces = { adHoc: [], userData: [] }

/**
 * Adds the session's scratch directory, which is on this machine, to the files of a backend, under its own path: long
 * outputs are written there, and tools read them by that path.
 */
function withScratch(files: WorkspaceFiles, scratch: Pick<Scratch, 'path'>): WorkspaceFiles {
  let own: LocalFiles | undefined
  const scratchFiles = (): LocalFiles | undefined => {
    if (scratch.path !== undefined) own ??= createLocalFiles({ root: scratch.path })
    return own
  }
  return routed(files, scratchFiles)
}

function routed(files: WorkspaceFiles, scratchFiles: () => WorkspaceFiles | undefined): WorkspaceFiles {
  const at = (path: string): WorkspaceFiles => {
    const own = scratchFiles()
    return own !== undefined && isInside(own.root, posix.normalize(path)) ? own : files
  }
  return {
    root: files.root,
    resolve: (path) => at(path).resolve(path),
    changedAt: (path) => at(path).changedAt(path),
    forCall: (call) => routed(files.forCall(call), () => scratchFiles()?.forCall(call)),
    stat: (path) => at(path).stat(path),
    whyNotRead: async (path) => at(path).whyNotRead?.(path),
    list: (path) => at(path).list(path),
    read: (path, options) => at(path).read(path, options),
    readText: (path, options) => at(path).readText(path, options),
    readRange: (path, start, end) => at(path).readRange(path, start, end),
    write: (path, data, options) => at(path).write(path, data, options),
    remove: (path) => at(path).remove(path),
    move: (from, to) => at(from).move(from, to),
    change: (changes) => {
      const own = scratchFiles()
      const isOwn = own !== undefined && changes.every(({ path }) => at(path) !== files)
      return (isOwn ? own : files).change(changes)
    },
  }
}
