import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnvironment } from '../shell/child-env.js'
import type { ConfinedCommand, ConfinedLaunch, Confinement } from '../shell/confinement.js'
import type { Ledger } from '../shell/ledger.js'
import { limited, type ResourceLimits } from '../shell/resource-limits.js'
import { bubblewrapArgs, insideHome, insideNode, insideTmp, type PathOfKind } from './bubblewrap.js'
import { listeningSockets } from './host-sockets.js'
import { type Protection, protect, protectedNames } from './protected-paths.js'
import { type CheckHost, type FilteringProxy, startProxy } from './proxy.js'
import { explainRefusals } from './refusals.js'
import { proxyVariables, relayed } from './relay.js'

export type BubblewrapOptions = {
  readonly bwrap: string
  readonly root: string
  readonly ledger: Ledger
  /** A private directory of the shell. */
  readonly directory: string
  readonly hidden: readonly PathOfKind[]
  readonly readOnly?: readonly string[] | undefined
  readonly writable?: readonly string[] | undefined
  /** Further names in the workspace that a command may not change or make. */
  readonly protect?: readonly { readonly name: string; readonly kind: 'file' | 'directory' }[] | undefined
  readonly network?: SandboxNetwork | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly path?: string | undefined
  readonly limits: ResourceLimits
}

export type SandboxNetwork = {
  /** `example.com`, `*.example.com`, `example.com:8443`; none means no network. */
  readonly allowHosts: readonly string[]
  /** Resolves a host and refuses private addresses; the connection goes to the address it gives. */
  readonly checkHost: CheckHost
}

/** Each command in namespaces of its own, seeing the machine read-only and nothing of its secrets. */
export function bubblewrapConfinement(options: BubblewrapOptions): Confinement {
  return {
    name: 'bubblewrap',
    async confine(command) {
      const protection = await protect(options.root, options.ledger, [
        ...protectedNames,
        ...(options.protect ?? []),
      ])
      let proxy: FilteringProxy | undefined
      try {
        proxy = await proxyFor(options)
        return await plan(options, command, protection, proxy)
      } catch (error) {
        await protection.release()
        await proxy?.close()
        throw error
      }
    },
  }
}

async function plan(
  options: BubblewrapOptions,
  command: ConfinedCommand,
  protection: Protection,
  proxy: FilteringProxy | undefined,
): Promise<ConfinedLaunch> {
  const hiddenDirectories = [...options.hidden.map(({ path }) => path), '/tmp', '/run', '/dev', '/proc']
  const args = bubblewrapArgs({
    root: options.root,
    cwd: command.cwd,
    tmp: command.tmp,
    home: command.home,
    hidden: options.hidden,
    readOnly: options.readOnly ?? [],
    writable: [...(options.writable ?? []), ...protection.writable],
    pins: protection.pins,
    sockets: await socketsToCover(options, hiddenDirectories),
    network: proxy === undefined ? undefined : { socket: proxy.socket, node: process.execPath },
  })
  const extra = { ...options.env, ...(proxy === undefined ? {} : proxyVariables) }
  const argv = limited(command.argv, options.limits)
  return {
    file: options.bwrap,
    args: [...args, ...(proxy === undefined ? argv : relayed(argv, insideNode))],
    // bubblewrap goes to the command's directory itself, once it is mounted.
    cwd: '/',
    // The whole environment of bubblewrap, not only of the command: it can be read in /proc/1/environ inside (SEC-112).
    env: childEnvironment({
      home: insideHome,
      tmp: insideTmp,
      marker: command.marker,
      path: options.path,
      extra,
    }),
    namespaced: true,
    async finish(outcome) {
      await proxy?.close()
      return [
        ...(await protection.release()),
        ...(proxy?.refused() ?? []),
        ...explainRefusals(outcome, proxy !== undefined),
      ]
    },
  }
}

/** A socket inside a hidden directory is gone already, unless that part of it is shown again. */
async function socketsToCover(options: BubblewrapOptions, hidden: readonly string[]): Promise<string[]> {
  const shown = [options.root, ...(options.readOnly ?? []), ...(options.writable ?? [])]
  const all = await listeningSockets()
  return all.filter(
    (path) =>
      shown.some((directory) => path.startsWith(`${directory}/`)) ||
      !hidden.some((directory) => path.startsWith(`${directory}/`)),
  )
}

/** One proxy for each command: its grant, its refusals and its end are that command's own. */
async function proxyFor(options: BubblewrapOptions): Promise<FilteringProxy | undefined> {
  const { network } = options
  if (network === undefined || network.allowHosts.length === 0) return undefined
  // The name of a socket ends at 107 bytes.
  const base = Buffer.byteLength(options.directory) < 90 ? options.directory : tmpdir()
  const directory = await mkdtemp(join(base, 'p-'))
  const proxy = await startProxy({ socket: join(directory, 's'), ...network })
  return {
    ...proxy,
    async close() {
      await proxy.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
