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
import { type SandboxShell, visiblePart, watchedProtection } from './hold-command.js'
import type { Protection } from './protected-paths.js'
import { explainNoNetwork, explainRefusals, explainRefusedPaths } from './refusals.js'

/** What a command can reach where there are no mounts. All paths are real paths of the host. */
export type MountlessProfile = Pick<SandboxProfile, 'shown' | 'hidden' | 'pins' | 'tmp' | 'home'> & {
  /** Cannot be opened, whatever else is said of them. */
  readonly masked: readonly PathOfKind[]
  /** Unix sockets of the host, which cannot be connected to. */
  readonly sockets: readonly string[]
  readonly rules: GuardRules
  /** How many processes and threads the command can have, where nothing else holds it to its limit. */
  readonly maxTasks?: number | undefined
  /** The port of the proxy, the only one that a command can connect to. */
  readonly proxyPort?: number | undefined
}

/** What holds a command to a profile. */
export type MountlessBackend = {
  readonly name: 'landlock' | 'seatbelt'
  /** No process outlives the one that is started. */
  readonly contained: boolean
  /** Prepares the start of one command. */
  start(profile: MountlessProfile): Promise<MountlessStart>
}

export type MountlessStart = {
  readonly file: string
  /** The words in front of the command. */
  readonly args: readonly string[]
  /** Removes what was made for the start, and returns the paths that were refused, where they are known. */
  finish(): Promise<string[]>
}

/** Each command by itself, without namespaces: paths and process numbers are those of the host. */
export function mountlessConfinement(given: SandboxShell, backend: MountlessBackend): Confinement {
  const { shownAt } = given
  // The directory that the workspace is a copy of: a command that names it must not take it for the workspace.
  const original: PathOfKind[] = shownAt === undefined ? [] : [{ kind: 'directory', path: shownAt }]
  const options = { ...given, hidden: [...given.hidden, ...original] }
  const guards = options.roots.map((root) => gitGuardOf(root, options.ledger.directory))
  const coversFor = findCovers({
    trees: [...options.roots, ...(options.writable ?? []), ...(options.readOnly ?? [])],
    ledger: options.ledger,
  })
  return {
    name: backend.name,
    namespaces: false,
    async confine(command) {
      const watches = await Promise.all(guards.map((guard) => guard.begin()))
      const protection = await watchedProtection({ ...options, guarded: true }, command, watches)
      let proxy: CommandNetwork | undefined
      try {
        proxy = await openCommandNetwork(options.network, command.call)
        const covers = await coversFor(visiblePart(command.call, options.hidden), options.scratch?.())
        return await plan(options, backend, command, { protection, covers, proxy })
      } catch (error) {
        await protection.release()
        await proxy?.close()
        throw error
      }
    },
  }
}

/** What was made for one command. */
type Held = {
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
