import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { messageOf } from '../../tool/errors.js'
import type { LimitHold } from '../limits/hold-limits.js'
import type { ConfinedLaunch } from './confinement.js'
import { ShellStartError } from './errors.js'
import type { Exit } from './launch.js'
import type { Ledger } from './ledger.js'
import type { PipedProcess } from './piped-streams.js'
import { momentOf, readProcess, startedSinceBoot } from './process-table.js'
import { endRun, type RunTrace } from './run-trace.js'
import { withTimeout } from './with-timeout.js'

export type PipedOptions = {
  readonly sandbox: string
  readonly graceMs: number
  readonly killMs: number
  readonly watch: LimitHold['watch']
  /** Called once, when all its processes have ended. */
  gone(): Promise<void>
}

/** How long a program has to end after its input was closed. */
const farewellMs = 500

export async function openPiped(
  ledger: Ledger,
  plan: Pick<ConfinedLaunch, 'file' | 'args' | 'cwd' | 'env' | 'contained'>,
  { token, mark }: Pick<RunTrace, 'token' | 'mark'>,
  options: PipedOptions,
): Promise<PipedProcess> {
  const started = startedSinceBoot()
  const child = await spawned(plan)
  const pid = child.pid ?? -1
  const leader = { pid, startTime: readProcess(pid)?.startTime ?? '' }
  ledger.addGroup(leader)
  const trace: RunTrace = { token, mark, leader, since: momentOf(pid, started), contained: plan.contained }
  const exit = exitOf(child)
  const limits = options.watch(trace)
  let ended: Promise<void> | undefined
  // The client of the program notices that it has ended.
  void limits.reached.then(() => {
    limits.kill()
    return endOnce()
  })

  function endOnce(): Promise<void> {
    ended ??= end()
    return ended
  }

  async function end(): Promise<void> {
    child.stdin.end()
    await withTimeout(exit, farewellMs)
    // Also when the program ended by itself: processes that it started may still run.
    await endRun(trace, options)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    ledger.dropGroup(pid)
    await options.gone()
  }

  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    sandbox: options.sandbox,
    exit,
    end: endOnce,
  }
}

type Piped = ChildProcessByStdio<Writable, Readable, Readable>

async function spawned(plan: Pick<ConfinedLaunch, 'file' | 'args' | 'cwd' | 'env'>): Promise<Piped> {
  try {
    const child = spawn(plan.file, plan.args, {
      cwd: plan.cwd,
      env: plan.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (child.pid === undefined) throw await new Promise<Error>((resolve) => child.once('error', resolve))
    // If a program ends while it is written to, its exit is handled elsewhere.
    child.stdin.on('error', () => child.stdin.destroy())
    // It must not keep a host alive that has nothing else to do; a caller that waits for an answer does.
    child.unref()
    for (const stream of [child.stdin, child.stdout, child.stderr])
      if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
    return child
  } catch (error) {
    throw new ShellStartError(`The program did not start: ${messageOf(error)}`, error)
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    const tell = (exitCode: number | null, signal: NodeJS.Signals | null): void =>
      resolve({ exitCode, ...(signal === null ? {} : { signal }) })
    if (child.exitCode !== null || child.signalCode !== null) tell(child.exitCode, child.signalCode)
    else child.once('exit', tell)
  })
}
