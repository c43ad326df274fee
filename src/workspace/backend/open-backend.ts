import { closePaths } from '../closed-paths.js'
import { findBelow, treeOn } from '../files/find-below.js'
import { followLinksOn } from '../files/follow-links.js'
import { createGuardedFiles } from '../files/guarded-files.js'
import {
  both,
  netFor,
  type OpenPlaces,
  refuseCommit,
  scopeOf,
  shellFor,
  type Workspace,
  type WorkspaceOptions,
  withClosed,
} from '../open-workspace.js'
import { createScratch, defaultScratchBase } from '../scratch/index.js'
import { createFileSystemSearch } from '../search/file-system-search.js'
import type { OpenBackend, WorkspaceBackend } from './backend.js'
import { createBackendShell } from './backend-shell.js'
import { WorkspaceBackendError } from './errors.js'
import { withScratch } from './scratch-files.js'

/** The options of a workspace that apply on every backend. */
export type BackendWorkspaceOptions = Pick<
  WorkspaceOptions,
  'sandbox' | 'env' | 'network' | 'closed' | 'scratchDir' | 'onNotice'
>

/** Opens the workspace of a backend: the same surface as a directory of this machine, with the same checks. */
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
  const { fileSystem, root, commands } = opened
  const scratch = createScratch({ baseDir: options.scratchDir ?? defaultScratchBase() })
  // The store of sessions is on this machine, so it can be in the workspace only if that is, too.
  const closed = closePaths(localRoot === undefined ? [] : (options.closed ?? []), [root])
  const guarded = createGuardedFiles(fileSystem, {
    root,
    lockName: opened.id,
    permit: (_, path) => closed.refusal(path),
  })
  const files = withScratch(guarded, scratch)
  const shell = createBackendShell(kind, commands, {
    root,
    resolve: (path) => guarded.resolve(path),
    env: options.env,
    sandbox: options.sandbox ?? 'auto',
    onNotice: options.onNotice,
    scratchFile: async (label) => {
      const { path, file } = await scratch.create(label)
      await file.close()
      return path
    },
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
    runtimeFor: (permit, signal) => {
      const search = createFileSystemSearch({
        fileSystem,
        root,
        permit: (path) => withClosed(permit, closed).path('read', path),
      })
      return {
        files: files.forCall({ permit: (access, path) => permit.path(access, path), signal }),
        search: {
          grep: async (request) => search.grep({ ...request, signal: both(signal, request.signal) }),
          glob: async (request) => search.glob({ ...request, signal: both(signal, request.signal) }),
        },
        shell: shellFor(shell, root, permit, signal, () => undefined),
        net: netFor(permit, signal, options.network?.allowPrivate),
        scratch: {
          write: async (label, data) => {
            signal.throwIfAborted()
            return scratch.write(label, data)
          },
        },
      }
    },
    startServer: async () => {
      throw new WorkspaceBackendError(
        'servers_unavailable',
        `The workspace of this session (${kind}) is not a directory of this machine, so no MCP server is started as a program for it. Use a server with a URL.`,
      )
    },
    doctor: async () => [],
    commit: async () => opened.commit?.() ?? refuseCommit(kind),
    discard: async () => opened.discard?.() ?? refuseCommit(kind),
    async close() {
      await shell.close()
      await scratch.close()
      await opened.close()
    },
  }
}

const noPlaces: OpenPlaces = { adHoc: [], userData: [] }
