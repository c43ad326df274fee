import { execFile } from 'node:child_process'
import { access, constants, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { childEnvironment } from '../shell/child-env.js'
import { backendsOf, type SandboxBackend } from './backends.js'
import { isolation } from './bubblewrap.js'
import { guardProgram, placeGuard, underGuard } from './guard/guard.js'
import { sandboxExec } from './seatbelt/seatbelt-checks.js'

/** Options of {@link detectSandbox}. */
export type DetectOptions = {
  /** Tries only this one. Absent: the first that works. */
  readonly backend?: SandboxBackend | undefined
  /** The path of bubblewrap, when it is not in one of the usual places. */
  readonly bubblewrap?: string | undefined
  /** The operating system. Absent: that of this machine. */
  readonly platform?: string | undefined
  /** The path of `sandbox-exec` of macOS, when it is not in its usual place. */
  readonly sandboxExec?: string | undefined
}

/** The sandbox that works on this machine, or why none does. */
export type SandboxDetection =
  | {
      readonly kind: 'bubblewrap'
      readonly path: string
      readonly version: string
      /** Why missing control files are protected by placeholders in the workspace; absent when the guard works. */
      readonly unguarded?: string | undefined
    }
  | {
      readonly kind: 'landlock'
      /** The Landlock ABI version of the kernel. */
      readonly abi: number
    }
  | {
      readonly kind: 'seatbelt'
      /** The path of `sandbox-exec`. */
      readonly path: string
    }
  | NoSandbox

export type NoSandbox = { readonly kind: 'none'; readonly reason: string; readonly advice: string }

/** What is needed to confine commands with a sandbox. */
export type UsableSandbox =
  | { readonly kind: 'bubblewrap'; readonly path: string; readonly unguarded?: string | undefined }
  | { readonly kind: 'landlock' }
  | { readonly kind: 'seatbelt'; readonly path: string }

/** Fixed paths: a search path could lead to a program in the workspace. */
const places = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap']

const install =
  'Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), or set sandbox to "off" to run commands without one.'

/** Detects which sandbox works on this machine. Each is tried, because being installed is not enough. */
export async function detectSandbox(options: DetectOptions = {}): Promise<SandboxDetection> {
  return firstWorking(options, (backend) => detectBackend(backend, options))
}

/** Tries one backend after the other, and returns the first that works, or why each of them does not. */
export async function firstWorking<Found extends { readonly kind: SandboxBackend }>(
  { backend, platform = process.platform }: DetectOptions,
  ask: (backend: SandboxBackend) => Promise<Found | NoSandbox>,
): Promise<Found | NoSandbox> {
  const known = backendsOf(platform)
  if (known.length === 0 || (backend !== undefined && !known.includes(backend))) {
    const wanted = backend === undefined ? 'no sandbox' : `no ${backend}`
    return {
      kind: 'none',
      reason: `there is ${wanted} for ${platform}, only bubblewrap and Landlock for Linux, and Seatbelt for macOS`,
      advice: 'Run on Linux or in a container, or set sandbox to "off" to run commands without one.',
    }
  }
  const reasons: string[] = []
  const advice: string[] = []
  for (const each of backend === undefined ? known : [backend]) {
    const found = await ask(each)
    if (found.kind !== 'none') return found
    reasons.push(found.reason)
    advice.push(found.advice)
  }
  return { kind: 'none', reason: reasons.join('; '), advice: advice[0] ?? '' }
}

/**
 * Returns the sandbox that is used if it works, without starting it. Undefined when something that it needs is missing,
 * or only a detection can tell.
 */
export async function expectedSandbox(
  backend: SandboxBackend,
  { bubblewrap }: DetectOptions,
): Promise<UsableSandbox | undefined> {
  if (backend === 'seatbelt' || (await guardProgram()) === undefined) return undefined
  if (backend === 'landlock') return { kind: 'landlock' }
  const path = await firstExecutable(bubblewrap === undefined ? places : [bubblewrap])
  return path === undefined ? undefined : { kind: 'bubblewrap', path }
}

/** Checks whether one sandbox works on this machine. */
export function detectBackend(
  backend: SandboxBackend,
  { bubblewrap, sandboxExec: program }: DetectOptions = {},
): Promise<SandboxDetection> {
  if (backend === 'landlock') return detectLandlock()
  if (backend === 'seatbelt') return detectSeatbelt(program ?? sandboxExec)
  return detectBubblewrap(bubblewrap === undefined ? places : [bubblewrap])
}

/** Only checks that the program exists. Whether the sandbox is effective is tested before it is used. */
async function detectSeatbelt(program: string): Promise<SandboxDetection> {
  if ((await firstExecutable([program])) !== undefined) return { kind: 'seatbelt', path: program }
  return {
    kind: 'none',
    reason: `${program} is missing`,
    advice: 'Use a version of macOS that has it, or set sandbox to "off" to run commands without one.',
  }
}

/** Since this version, Landlock can block signals and abstract sockets to the outside. */
const neededAbi = 6

async function detectLandlock(): Promise<SandboxDetection> {
  const none = (reason: string, advice = noLandlock): SandboxDetection => ({ kind: 'none', reason, advice })
  const guard = await guardProgram()
  if (guard === undefined)
    return none(`there is no Landlock launcher for ${process.arch}`, 'Run on x64 or arm64.')
  const place = await realpath(await mkdtemp(join(tmpdir(), 'capstan-landlock-')))
  try {
    const program = await placeGuard(guard, place)
    const asked = await run(program, ['--landlock-abi'])
    if (asked.code !== 0) return none(`the Landlock launcher does not start (${asked.output.trim()})`)
    const abi = Number(asked.output)
    if (abi === 0) return none('the kernel has no Landlock, or it is switched off')
    if (abi < neededAbi)
      return none(`the kernel has version ${abi} of Landlock, and ${neededAbi} is needed (Linux 6.12)`)
    const script =
      'cd "$1" && mkdir free || exit 1; mkdir free/.git 2>/dev/null && { echo ".git was made"; exit 1; }; [ -e free/.git ] || echo held'
    const words = ['--confine', '--read', '/', '--write', place, '--git', place, '--']
    const { code, output } = await run(program, [...words, '/bin/sh', '-c', script, 'sh', place])
    return code === 0 && /^held$/m.test(output)
      ? { kind: 'landlock', abi }
      : none(`Landlock does not work here (${output.trim()})`)
  } catch (error) {
    return none(`the Landlock launcher cannot be written (${messageOf(error)})`)
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

const noLandlock =
  'Use Linux 6.12 or newer with Landlock among its security modules (lsm=landlock,…), and a temporary directory in which programs can be executed.'

async function detectBubblewrap(candidates: readonly string[]): Promise<SandboxDetection> {
  const path = await firstExecutable(candidates)
  if (path === undefined) return { kind: 'none', reason: 'bubblewrap is not installed', advice: install }
  const version = await run(path, ['--version'])
  const unguarded = await tryGuard(path)
  const trial =
    unguarded === undefined
      ? { code: 0, output: '' }
      : await run(path, [...namespaces, '--', '/bin/sh', '-c', 'exit 0'])
  if (version.code === 0 && trial.code === 0) {
    return {
      kind: 'bubblewrap',
      path,
      version: version.output.replace('bubblewrap', '').trim(),
      ...(unguarded === undefined ? {} : { unguarded }),
    }
  }
  return explain(path, (trial.code === 0 ? version : trial).output.trim())
}

/** Starts a command under the guard, in a sandbox. Returns why that does not work. */
async function tryGuard(bwrap: string): Promise<string | undefined> {
  const program = await guardProgram()
  if (program === undefined) return `there is no guard for ${process.arch}`
  const script =
    'mkdir /run/free || exit 1; mkdir /run/free/.git 2>/dev/null && { echo ".git was made"; exit 1; }; [ -e /run/free/.git ] || echo held'
  const words = underGuard(
    ['/bin/sh', '-c', script],
    { names: [], gitRoots: ['/run'] },
    { program: '/run/guard' },
  )
  const { code, output } = await run(
    bwrap,
    [...namespaces, '--perms', '0555', '--file', '0', '/run/guard', '--as-pid-1', '--', ...words],
    program,
  )
  return code === 0 && /^held$/m.test(output) ? undefined : `the guard does not work here (${output.trim()})`
}

const namespaces = [
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '65536', '--tmpfs', '/run'],
  ...isolation,
]

async function explain(path: string, output: string): Promise<SandboxDetection> {
  const none = (reason: string, advice: string): SandboxDetection => ({ kind: 'none', reason, advice })
  if (/unknown option/i.test(output)) {
    return none(`${path} is too old (${output})`, 'Install bubblewrap 0.8 or newer.')
  }
  if (/mount.*proc/i.test(output)) {
    return none(
      `${path} may not mount /proc here (${output})`,
      'This is a container that masks /proc: start it with systempaths=unconfined, or set sandbox to "off" and let the container be the sandbox.',
    )
  }
  if (/namespace|uid map|permission|operation not permitted/i.test(output)) {
    return none(
      `user namespaces are switched off${await userNamespaceSettings()} (${output})`,
      'Allow them (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), or set sandbox to "off".',
    )
  }
  return none(`${path} does not work (${output || 'it said nothing'})`, install)
}

async function userNamespaceSettings(): Promise<string> {
  const names = [
    'kernel/unprivileged_userns_clone',
    'user/max_user_namespaces',
    'kernel/apparmor_restrict_unprivileged_userns',
  ]
  const found = await Promise.all(
    names.map(async (name) => {
      const value = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined)
      return value === undefined ? [] : [`${name.replace('/', '.')}=${value.trim()}`]
    }),
  )
  const settings = found.flat()
  return settings.length === 0 ? '' : `: ${settings.join(', ')}`
}

async function firstExecutable(candidates: readonly string[]): Promise<string | undefined> {
  for (const path of candidates) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return path
  }
  return undefined
}

function run(
  file: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<{ code: number; output: string }> {
  const env = childEnvironment({ home: '/', tmp: '/tmp', marker: 'probe' })
  return new Promise((resolve) => {
    const child = execFile(file, [...args], { env, cwd: '/', timeout: 10_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` || (error?.message ?? '') })
    })
    // The process can end without reading.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(input)
  })
}
