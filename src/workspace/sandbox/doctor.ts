import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Confinement } from '../shell/confinement.js'
import { Ledger } from '../shell/ledger.js'
import { momentOf, readProcess, startedSinceBoot } from '../shell/process-table.js'
import { newToken } from '../shell/run-marker.js'
import { endRun, findMembers } from '../shell/run-trace.js'
import type { SandboxBackend } from './backends.js'
import { bubblewrapConfinement } from './confine-bubblewrap.js'
import { landlockConfinement } from './confine-landlock.js'
import { tryToOutlive } from './doctor-outlive.js'
import { buildTrap, type DoctorCheck, type Trap, type TrapEnd } from './doctor-trap.js'
import { SandboxUnavailableError } from './errors.js'
import { guardProgram } from './guard/guard.js'
import { hiddenPaths } from './hidden-paths.js'
import type { SandboxShell } from './hold-command.js'
import {
  type DetectOptions,
  detectBackend,
  detectSandbox,
  expectedSandbox,
  firstWorking,
  type NoSandbox,
  type SandboxDetection,
  type UsableSandbox,
} from './probe.js'
import { rootOnlyFiles } from './root-only-files.js'
import { seatbeltConfinement } from './seatbelt/confine-seatbelt.js'
import { seatbeltChecks } from './seatbelt/seatbelt-checks.js'

export type { DoctorCheck }

/** Tries every known way to escape from the sandbox, from inside, and reports which attempts were blocked. */
export async function doctor(options: DetectOptions = {}): Promise<DoctorCheck[]> {
  const detection = await detectSandbox(options)
  if (detection.kind === 'none') {
    const none = { check: 'sandbox', held: false, detail: `${detection.reason}. ${detection.advice}` }
    return [none, await tryToOutlive()]
  }
  const found = { check: 'sandbox', held: true, detail: describe(detection) }
  const isUnproven = detection.kind === 'seatbelt'
  return [
    isUnproven ? { ...found, unproven: true } : found,
    ...(await tryToBreakOut(detection)),
    await tryToOutlive(),
  ]
}

function describe(detection: WorkingSandbox): string {
  if (detection.kind === 'seatbelt')
    return `Seatbelt, ${detection.path}; unproven: it was written without a Mac, so report what "capstan doctor --prove" prints`
  if (detection.kind === 'landlock')
    return `Landlock, version ${detection.abi}, and a system call filter; a guard judges every new name`
  const { path, version, unguarded } = detection
  const how =
    unguarded === undefined
      ? 'a guard judges every new name'
      : `missing control files are covered by placeholders, which other programs see in the workspace while a command runs: ${unguarded}`
  return `${path}, version ${version}; ${how}`
}

type WorkingSandbox = Exclude<SandboxDetection, NoSandbox>

const proven = new Map<string, Promise<UsableSandbox | NoSandbox>>()

/**
 * Returns the first sandbox of this machine that passes its own test. Tested once per process; after a failure it is
 * tested again (SEC-135).
 */
export async function provenSandbox(options: DetectOptions = {}): Promise<UsableSandbox | NoSandbox> {
  const { backend, bubblewrap, platform, sandboxExec } = options
  const key = JSON.stringify([backend, bubblewrap, platform, sandboxExec])
  const known = proven.get(key)
  if (known !== undefined) return known
  const proving = firstWorking(options, (backend) => prove(backend, options))
  proven.set(key, proving)
  let holds = false
  try {
    const verdict = await proving
    holds = verdict.kind !== 'none'
    return verdict
  } finally {
    if (!holds) proven.delete(key)
  }
}

/**
 * Tests the sandbox without detecting it first: one that passes its test works. A detection, which starts the sandbox
 * too, is needed only for the reason of a failure, and to find out whether placeholders have to replace the guard.
 */
async function prove(backend: SandboxBackend, options: DetectOptions): Promise<UsableSandbox | NoSandbox> {
  const expected = await expectedSandbox(backend, options)
  const checks = expected && (await tryToBreakOut(expected).catch(() => undefined))
  if (expected !== undefined && checks?.every(({ held }) => held) === true) return expected
  const detection = await detectBackend(backend, options)
  if (detection.kind === 'none') return detection
  const isSame = expected !== undefined && !('unguarded' in detection)
  const broken = ((isSame && checks) || (await tryToBreakOut(detection))).filter(({ held }) => !held)
  if (broken.length === 0) return detection
  return {
    kind: 'none',
    reason: `${backend} exists but does not confine (${broken.map(({ check, detail }) => `${check}: ${detail}`).join('; ')})`,
    advice:
      'Run the doctor for the whole list, and do not trust this machine with commands until it is clean.',
  }
}

/** Creates the confinement of a shell with a sandbox that was detected. */
export async function confinementBy(found: UsableSandbox, shell: SandboxShell): Promise<Confinement> {
  if (found.kind === 'seatbelt') return seatbeltConfinement({ ...shell, program: found.path })
  const guard = await guardProgram()
  if (found.kind === 'bubblewrap')
    return bubblewrapConfinement({
      ...shell,
      bwrap: found.path,
      guard: found.unguarded === undefined ? guard : undefined,
    })
  if (guard === undefined) throw new SandboxUnavailableError('there is no guard for this processor', '')
  return landlockConfinement({ ...shell, guard })
}

async function tryToBreakOut(found: UsableSandbox): Promise<DoctorCheck[]> {
  if (found.kind === 'seatbelt') return seatbeltChecks(found.path)
  // The search takes as long as the steps until its result is needed.
  const rootOnly = rootOnlyFiles([])
  const place = await realpath(await mkdtemp(join(tmpdir(), 'capstan-doctor-')))
  mkdirSync(join(place, 'ledger'), { mode: 0o700 })
  // When this host is killed, a sandbox ends with it, and what is left of the script ends within seconds.
  const ledger = new Ledger(join(place, 'ledger'), { isWatched: false })
  let trap: Trap | undefined
  try {
    const namespaces = found.kind === 'bubblewrap'
    trap = await buildTrap(place, { guarded: !namespaces || found.unguarded === undefined, namespaces })
    const confinement = await confinementBy(found, {
      roots: [trap.root],
      ledger,
      directory: ledger.privateDirectory,
      hidden: hiddenPaths(await rootOnly),
      limits: {},
    })
    const token = newToken()
    const launched = await confinement.confine({
      argv: ['/bin/bash', '--noprofile', '--norc', '-c', trap.script],
      cwd: trap.root,
      home: trap.home,
      tmp: trap.tmp,
      marker: token,
      mark: namespaces ? undefined : ledger.nextMark(),
      call: { unreadable: trap.unreadable },
    })
    try {
      return await trap.judge(await runTrap(launched, token, place))
    } finally {
      await launched.finish({ exitCode: 0, output: '' })
    }
  } finally {
    await trap?.close()
    await ledger.close()
    // A few small files: the thread pool would take longer.
    rmSync(place, { recursive: true, force: true })
  }
}

async function runTrap(
  plan: { file: string; args: readonly string[]; cwd: string; env: Readonly<Record<string, string>> },
  token: string,
  place: string,
): Promise<TrapEnd> {
  // Simulates a host that inherited a descriptor without the close-on-exec flag.
  const inherited = openSync(join(place, 'secret'), 'r')
  const started = startedSinceBoot()
  const child = spawn(plan.file, plan.args, {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...Array.from({ length: 20 }, () => 'ignore' as const), inherited],
  })
  closeSync(inherited)
  const pid = child.pid ?? -1
  const leader = { pid, startTime: readProcess(pid)?.startTime ?? '' }
  const trace = { token, leader, since: momentOf(pid, started), contained: true }
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < 100_000) output += text
  })
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < 1_000) errors += text
  })
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', () => resolve())
    })
    // The kernel clears a dead namespace within moments, or within seconds on a busy machine. A process that remains
    // after that was not in the namespace.
    for (let pause = 10; pause < 2_500 && findMembers(trace).length > 0; pause *= 2) {
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    return { output, errors, survivors: findMembers(trace).length }
  } finally {
    clearTimeout(timer)
    await endRun(trace, { graceMs: 0, killMs: 60_000 })
  }
}
