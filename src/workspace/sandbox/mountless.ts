import { type CommandNetwork, openCommandNetwork } from '../egress/command-network.js'
import { gitGuardOf } from '../git/git-guard.js'
import { isInside } from '../inside.js'
import { childEnvironment } from '../shell/child-env.js'
import type { ConfinedCommand, ConfinedLaunch, Confinement } from '../shell/confinement.js'
import { limited, userProcesses } from '../shell/start-words.js'
import { isVisible, type PathOfKind, placesOf, type SandboxProfile } from './bubblewrap.js'
import { mountsOf } from './call-mounts.js'
import { type Covers, findCovers } from './covers.js'
import type { GuardRules } from './guard/guard.js'
import { type SandboxShell, watchedProtection } from './hold-command.js'
import type { Protection } from './protected-paths.js'
import { explainNoNetwork, explainRefusals, explainRefusedPaths } from './refusals.js'

/** What a command can access in a sandbox without mounts. All paths are real paths of the host. */
export type MountlessProfile = Pick<SandboxProfile, 'shown' | 'hidden' | 'pins' | 'tmp' | 'home'> & {
  /** Paths that cannot be opened, regardless of other entries. */
  readonly masked: readonly PathOfKind[]
  /** Unix sockets of the host, which cannot be connected to. */
  readonly sockets: readonly string[]
  readonly rules: GuardRules
  /** The maximum number of processes and threads of the command, if no other mechanism enforces the limit. */
  readonly maxTasks?: number | undefined
  /** The port of the proxy, the only one that a command can connect to. */
  readonly proxyPort?: number | undefined
}

/** The mechanism that applies a profile to a command. */
export type MountlessBackend = {
  readonly name: 'landlock' | 'seatbelt'
  /** Whether no process outlives the one that is started. */
  readonly contained: boolean
  /** Prepares the start of one command. */
  start(profile: MountlessProfile): Promise<MountlessStart>
}

export type MountlessStart = {
  readonly file: string
  /** The arguments before the command. */
  readonly args: readonly string[]
  /** Removes what was created for the start, and returns the refused paths if they are known. */
  finish(): Promise<string[]>
}

/** Confines each command without namespaces: paths and process IDs are those of the host. */
export function mountlessConfinement(given: SandboxShell, backend: MountlessBackend): Confinement {
  const { shownAt } = given
  // The directory that the workspace is a copy of: a command that names it must not use it instead of the workspace.
  const original: PathOfKind[] = shownAt === undefined ? [] : [{ kind: 'directory', path: shownAt }]
  const options = { ...given, hidden: [...given.hidden, ...original] }
  const guards = options.roots.map((root) => gitGuardOf(root, options.ledger.directory))
  const coversFor = findCovers(options)
  return {
    name: backend.name,
    namespaces: false,
    async confine(command) {
      const watches = await Promise.all(guards.map((guard) => guard.begin()))
      const protection = await watchedProtection({ ...options, guarded: true }, command, watches)
      let proxy: CommandNetwork | undefined
      try {
        proxy = await openCommandNetwork(options.network, command.call)
        const covers = await coversFor(command.call)
        return await plan(options, backend, command, { protection, covers, proxy })
      } catch (error) {
        await protection.release()
        await proxy?.close()
        throw error
      }
    },
  }
}

/** What was created for one command. */
export type Held = {
  readonly protection: Protection
  readonly covers: Covers
  readonly proxy: CommandNetwork | undefined
}

async function plan(
  options: SandboxShell,
  backend: MountlessBackend,
  command: ConfinedCommand,
  { protection, covers, proxy }: Held,
): Promise<ConfinedLaunch> {
  const mounts = mountsOf(options, command.call, protection)
  const places = placesOf(mounts)
  const masked = covers.masked.filter(({ path }) => isVisible(path, places))
  const start = await backend.start({
    ...mounts,
    tmp: command.tmp,
    home: command.home,
    masked,
    sockets: covers.sockets.filter(
      (path) => isVisible(path, places) && !masked.some((mask) => isInside(mask.path, path)),
    ),
    rules: protection.rules ?? { names: [], gitRoots: options.roots },
    maxTasks: command.maxTasks,
    proxyPort: proxy !== undefined && 'port' in proxy.address ? proxy.address.port : undefined,
  })
  const { limits } = options
  const argv = limited(command.argv, limits, {
    streams: command.streams,
    mark: command.mark,
    userProcesses: userProcesses(limits),
  })
  return {
    file: start.file,
    args: [...start.args, ...argv],
    cwd: command.cwd,
    env: childEnvironment({
      home: command.home,
      tmp: command.tmp,
      marker: command.marker,
      path: options.path,
      extra: { ...options.env, ...proxy?.variables(command.home, command.home) },
    }),
    contained: backend.contained,
    async finish(outcome) {
      await proxy?.close()
      const network = proxy === undefined ? explainNoNetwork(outcome) : proxy.refused()
      const messages = [
        ...explainRefusedPaths(await start.finish(), options.roots),
        ...(await protection.release()),
        ...network,
        ...explainRefusals(outcome, {
          mayChangeGit: command.call?.git !== undefined,
          masked: masked.map(({ path }) => path),
          mounts: false,
        }),
      ]
      return { messages, network: network.length > 0 }
    },
  }
}
