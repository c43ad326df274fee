import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CommandNetwork, nodeCertificates, openCommandNetwork } from '../egress/command-network.js'
import { relayed } from '../egress/relay.js'
import { type GitWatch, gitGuardOf } from '../git/git-guard.js'
import { guardedDirectories, replacedConfigs } from '../git/guarded-directories.js'
import { isInside } from '../inside.js'
import { childEnvironment } from '../shell/child-env.js'
import type { ConfinedCommand, ConfinedLaunch, Confinement } from '../shell/confinement.js'
import { limited } from '../shell/start-words.js'
import {
  bubblewrapArgs,
  guardDescriptor,
  insideGuard,
  insideHome,
  insideNode,
  insideTmp,
  isVisible,
  type PathOfKind,
  placesOf,
  reportDescriptor,
  seccompDescriptor,
} from './bubblewrap.js'
import { mountsOf } from './call-mounts.js'
import { findCovers } from './covers.js'
import { SandboxUnavailableError } from './errors.js'
import { underGuard } from './guard/guard.js'
import { type SandboxShell, takeReport, watchedProtection } from './hold-command.js'
import { type InsideUser, insideUser } from './inside-user.js'
import { kernelFiles } from './kernel-files.js'
import type { Held } from './mountless.js'
import { explainNoNetwork, explainRefusals, explainRefusedPaths } from './refusals.js'
import { seccompFilter } from './seccomp.js'

export type BubblewrapOptions = SandboxShell & {
  readonly bwrap: string
  /** Prevents the creation of missing names, where it works; without it, placeholders are created in the workspace. */
  readonly guard: Uint8Array | undefined
}

/** Runs each command in separate namespaces, with the machine read-only and its secrets hidden. */
export function bubblewrapConfinement(options: BubblewrapOptions): Confinement {
  const guards = options.roots.map((root) => gitGuardOf(root, options.ledger.directory))
  const own = ownFiles(options)
  const coversFor = findCovers(options)
  return {
    name: 'bubblewrap',
    namespaces: true,
    async confine(command) {
      const watches = await Promise.all(guards.map((guard) => guard.begin()))
      const guarded = options.guard !== undefined
      const protection = await watchedProtection({ ...options, guarded }, command, watches)
      let proxy: CommandNetwork | undefined
      try {
        proxy = await openCommandNetwork(options.network, command.call, options.directory)
        const covers = await coversFor(command.call)
        const git = command.guardGit === true ? await guardGit(options, command, watches) : undefined
        return plan(options, own, command, { protection, covers, proxy, guarded: git })
      } catch (error) {
        await protection.release()
        await proxy?.close()
        throw error
      }
    },
  }
}

type OwnFiles = {
  readonly user: InsideUser
  readonly filter: string
  readonly blankFile: string
  readonly guard: string | undefined
}

/** Writes the files that every sandbox of a shell needs, once. */
function ownFiles({ directory, guard }: BubblewrapOptions): OwnFiles {
  const filter = join(directory, 'seccomp')
  const bytes = seccompFilter()
  if (bytes === undefined)
    throw new SandboxUnavailableError(`there is no seccomp filter for ${process.arch}`, noFilter)
  writeFileSync(filter, bytes, { mode: 0o600 })
  const blankFile = join(directory, 'blank')
  writeFileSync(blankFile, '', { mode: 0 })
  const guardFile = join(directory, 'guard')
  if (guard !== undefined) writeFileSync(guardFile, guard, { mode: 0o600 })
  return { user: insideUser(directory), filter, blankFile, guard: guard && guardFile }
}

const noFilter = 'Run on x64 or arm64, or set sandbox to "off" to run commands without one.'

function plan(
  options: BubblewrapOptions,
  own: OwnFiles,
  command: ConfinedCommand,
  { protection, covers, proxy, guarded }: Held & { readonly guarded: GuardedGit | undefined },
): ConfinedLaunch {
  if (protection.ignored.length > 0) describeGit(command.home, protection.ignored)
  // No `await` from here to the start, so that little can change after it was checked.
  const mounts = mountsOf(options, command.call, protection)
  const places = placesOf(mounts)
  const inside = insidePath(options)
  const masked = covers.masked.filter(({ path }) => isVisible(path, places))
  const args = bubblewrapArgs({
    ...mounts,
    cwd: command.cwd,
    user: own.user,
    kernel: kernelFiles(),
    tmp: command.tmp,
    home: command.home,
    masked: [...masked, ...(guarded?.masked ?? []).filter(({ path }) => isVisible(path, places))],
    replaced: guarded?.replaced.filter(({ path }) => isVisible(path, places)),
    blankFile: own.blankFile,
    // A socket inside a hidden directory is already hidden, unless that part of it is visible again.
    sockets: covers.sockets.filter(
      (path) => isVisible(path, places) && !masked.some((mask) => isInside(mask.path, path)),
    ),
    network:
      proxy !== undefined && 'socket' in proxy.address
        ? { socket: proxy.address.socket, node: process.execPath }
        : undefined,
    guarded: own.guard !== undefined,
    inside,
  })
  const extra: Record<string, string> = { ...options.env, ...proxy?.variables(command.home, insideHome) }
  const certificates = extra[nodeCertificates]
  if (proxy !== undefined) delete extra[nodeCertificates]
  const limitedArgv = limited(
    proxy === undefined ? command.argv : relayed(command.argv, insideNode, certificates),
    options.limits,
    {
      streams: command.streams,
      // The user namespace contains no other processes.
      userProcesses: options.limits.processes,
    },
  )
  const { rules } = protection
  const report = join(options.directory, `refused-${randomBytes(9).toString('base64url')}`)
  const visible = rules && {
    gitRoots: rules.gitRoots.map(inside),
    names: rules.names
      .filter(({ directory }) => isVisible(directory, places))
      .map(({ directory, name }) => ({ directory: inside(directory), name })),
  }
  const argv =
    visible === undefined
      ? limitedArgv
      : underGuard(limitedArgv, visible, {
          program: insideGuard,
          report: reportDescriptor,
          maxTasks: command.maxTasks,
        })
  // bubblewrap reads its filter and the guard from descriptors.
  const start =
    own.guard === undefined
      ? ['-c', `exec "$@" ${seccompDescriptor}<"$0"`, own.filter]
      : ['-c', startGuarded, own.filter, own.guard, report]
  return {
    file: '/bin/sh',
    args: [...start, options.bwrap, ...args, ...argv],
    // bubblewrap changes to the command's directory itself, after it is mounted.
    cwd: '/',
    // The whole environment of bubblewrap, not only of the command: it can be read in /proc/1/environ inside (SEC-112).
    env: childEnvironment({
      home: insideHome,
      tmp: insideTmp,
      marker: command.marker,
      path: options.path,
      extra,
    }),
    contained: true,
    async finish(outcome) {
      await proxy?.close()
      await guarded?.remove()
      const refused = rules === undefined ? [] : await takeReport(report)
      const network = proxy === undefined ? explainNoNetwork(outcome) : proxy.refused()
      const messages = [
        ...explainRefusedPaths(refused, options.roots.map(inside)),
        ...(await protection.release()),
        ...network,
        ...explainRefusals(outcome, {
          mayChangeGit: command.call?.git !== undefined,
          masked: masked.map(({ path }) => inside(path)),
        }),
      ]
      return { messages, network: network.length > 0 }
    },
  }
}

/** Returns a function that maps a path of the host to the path that a command sees. */
function insidePath({ roots: [root], shownAt }: BubblewrapOptions): (path: string) => string {
  if (shownAt === undefined) return (path) => path
  return (path) => (isInside(root, path) ? `${shownAt}${path.slice(root.length)}` : path)
}

const startGuarded = `filter=$0 guard=$1 report=$2; shift 2; exec "$@" ${seccompDescriptor}<"$filter" ${reportDescriptor}>>"$report" ${guardDescriptor}<"$guard"`

type GuardedGit = {
  readonly masked: readonly PathOfKind[]
  readonly replaced: readonly { readonly path: string; readonly source: string }[]
  remove(): Promise<void>
}

/**
 * Replaces the configuration of each repository by one with harmless settings only, and hides hooks. Git cannot start
 * what it cannot read, also in submodules, where git ignores settings from its environment.
 */
async function guardGit(
  options: BubblewrapOptions,
  { cwd }: ConfinedCommand,
  watches: readonly GitWatch[],
): Promise<GuardedGit> {
  const found = {
    repositories: watches.flatMap((watch) => watch.found.repositories),
    closed: [],
  }
  const directories = guardedDirectories(cwd, found)
  const place = await mkdtemp(join(options.directory, 'git-'))
  const replaced = replacedConfigs(directories).map(({ path, text }, at) => {
    const source = join(place, String(at))
    writeFileSync(source, text, { mode: 0o600 })
    return { path, source }
  })
  return {
    replaced,
    masked: directories
      .map((directory) => join(directory, 'hooks'))
      .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      .map((path) => ({ kind: 'directory', path })),
    remove: () => rm(place, { recursive: true, force: true }),
  }
}

/** Writes git's global ignore file. Without it `git add .` would add the placeholders. */
function describeGit(home: string, ignored: readonly string[]): void {
  const directory = join(home, '.config', 'git')
  // The file is small, so it is written synchronously: the thread pool would take ten times as long.
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'ignore'), ignored.map((line) => `${line}\n`).join(''))
}
