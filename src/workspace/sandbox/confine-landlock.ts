import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type CommandNetwork, openCommandNetwork } from '../egress/command-network.js'
import { gitGuardOf } from '../git/git-guard.js'
import { childEnvironment } from '../shell/child-env.js'
import type { ConfinedCommand, ConfinedLaunch, Confinement } from '../shell/confinement.js'
import { limited, userProcesses } from '../shell/start-words.js'
import { isInside, isVisible, placesOf } from './bubblewrap.js'
import { mountsOf } from './call-mounts.js'
import { type Covers, findCovers } from './covers.js'
import { placeGuard } from './guard/guard.js'
import { type SandboxShell, takeReport, visiblePart, watchedProtection } from './hold-command.js'
import { landlockArgs } from './landlock.js'
import type { Protection } from './protected-paths.js'
import { explainNoNetwork, explainRefusals, explainRefusedPaths } from './refusals.js'

export type LandlockOptions = SandboxShell & { readonly guard: Uint8Array }

/**
 * Each command under the guard, which confines it with Landlock and a system call filter. Without namespaces, paths
 * and process numbers are those of the host.
 */
export function landlockConfinement(options: LandlockOptions): Confinement {
  const guards = options.roots.map((root) => gitGuardOf(root, options.ledger.directory))
  const coversFor = findCovers({
    trees: [...options.roots, ...(options.writable ?? []), ...(options.readOnly ?? [])],
    ledger: options.ledger,
  })
  const program = placeGuard(options.guard, options.directory)
  // Each command that needs the program gets the error.
  program.catch(() => undefined)
  return {
    name: 'landlock',
    namespaces: false,
    async confine(command) {
      const watches = await Promise.all(guards.map((guard) => guard.begin()))
      const protection = await watchedProtection(options, command, watches)
      let proxy: CommandNetwork | undefined
      try {
        proxy = await openCommandNetwork(options.network, command.call)
        const covers = await coversFor(visiblePart(command.call, options.hidden), options.scratch?.())
        return plan(options, await program, command, { protection, covers, proxy })
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

function plan(
  options: LandlockOptions,
  program: string,
  command: ConfinedCommand,
  { protection, covers, proxy }: Held,
): ConfinedLaunch {
  const mounts = mountsOf(options, command.call, protection)
  const places = placesOf(mounts)
  const masked = covers.masked.filter(({ path }) => isVisible(path, places))
  const report = join(options.directory, `refused-${randomBytes(9).toString('base64url')}`)
  const words = landlockArgs(
    {
      ...mounts,
      tmp: command.tmp,
      home: command.home,
      masked,
      sockets: covers.sockets.filter(
        (path) => isVisible(path, places) && !masked.some((mask) => isInside(mask.path, path)),
      ),
      rules: protection.rules ?? { names: [], gitRoots: options.roots },
      proxyPort: proxy !== undefined && 'port' in proxy.address ? proxy.address.port : undefined,
    },
    report,
  )
  const { limits } = options
  const argv = limited(command.argv, limits, {
    streams: command.streams,
    mark: command.mark,
    userProcesses: userProcesses(limits),
  })
  return {
    file: program,
    args: [...words, ...argv],
    cwd: command.cwd,
    env: childEnvironment({
      home: command.home,
      tmp: command.tmp,
      marker: command.marker,
      path: options.path,
      extra: { ...options.env, ...proxy?.variables(command.home, command.home) },
    }),
    contained: true,
    async finish(outcome) {
      await proxy?.close()
      const network = proxy === undefined ? explainNoNetwork(outcome) : proxy.refused()
      const messages = [
        ...explainRefusedPaths(await takeReport(report), options.roots),
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
