import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../../tool/errors.js'
import { pauseAfterSmallReads } from '../read-pause.js'
import type { CapturedOutput } from './captured-output.js'
import type { ConfinedLaunch } from './confinement.js'
import { ShellStartError } from './errors.js'
import type { Ledger } from './ledger.js'
import { type OutputPipe, openPipe } from './output-pipe.js'
import { momentOf, readProcess, startedSinceBoot } from './process-table.js'
import type { RunTrace } from './run-trace.js'
import { withTimeout } from './with-timeout.js'

export type Exit = { readonly exitCode: number | null; readonly signal?: string }

/** A command that was started. */
export type Running = {
  readonly trace: RunTrace
  readonly output: CapturedOutput
  readonly startedAt: number
  /** Resolves when the command itself has ended; other processes may still have its pipe open. */
  readonly exit: Promise<Exit>
  /** Resolves when no process has the pipe open any more, or after `stopReading`. */
  readonly ended: Promise<void>
  /** Whether output is being written to its file, so that the pipe is not read. */
  isWriting(): boolean
  stopReading(): void
  /** Allows the process of the host to exit before the command ends. */
  unref(): void
}

/** Starts a command in its own process group. Returns undefined, and starts nothing, when it was aborted before. */
export async function launch(
  ledger: Ledger,
  plan: Pick<ConfinedLaunch, 'file' | 'args' | 'cwd' | 'env' | 'contained'>,
  { token, mark }: Pick<RunTrace, 'token' | 'mark'>,
  output: CapturedOutput,
  isAborted: () => boolean = () => false,
): Promise<Running | undefined> {
  const pipe = openPipe(await ledger.pipes.take())
  if (isAborted()) {
    closeSync(pipe.writeFd)
    pipe.reader.destroy()
    return undefined
  }
  const startedAt = performance.now()
  const started = startedSinceBoot()
  const child = await spawned(plan, pipe)
  const pid = child.pid ?? -1
  const leader = { pid, startTime: readProcess(pid)?.startTime ?? '' }
  ledger.addGroup(leader)
  return {
    trace: { token, mark, leader, since: momentOf(pid, started), pipe: pipe.name, contained: plan.contained },
    output,
    startedAt,
    exit: new Promise((resolve) => {
      const { exitCode, signalCode } = child
      if (exitCode !== null || signalCode !== null) resolve(exitOf(exitCode, signalCode))
      else child.once('exit', (code, name) => resolve(exitOf(code, name)))
    }),
    ...collect(pipe, output),
    stopReading: () => void pipe.reader.destroy(),
    unref() {
      child.unref()
      pipe.reader.unref()
    },
  }
}

/**
 * Reads the remaining output from the pipe after the command has ended. The time is limited, because another process
 * may keep the pipe open forever: until no output arrives, at most half a second. While a slow disk delays reading, the
 * time does not count. Returns true when no process has the pipe open.
 */
export async function drain(running: Running): Promise<boolean> {
  let open = true
  const ended = running.ended.then(() => {
    open = false
  })
  const began = performance.now()
  let writingMs = 0
  for (
    let seen = -1;
    open && seen !== running.output.bytes && performance.now() - writingMs < began + 500;
  ) {
    seen = running.output.bytes
    await withTimeout(ended, 50)
    if (running.isWriting()) {
      writingMs += await untilWritten(running, maxWritingMs - writingMs)
      seen = -1
    }
    // On a busy host the timer can fire before the pipe was read: this allows one read.
    await nextTurn()
  }
  return !open
}

/** The total time limit, for a command that left a process which writes without end. */
const maxWritingMs = 5_000

/** Waits while output is being written to its file, and returns for how long; later output is still in the pipe. */
async function untilWritten(running: Running, maxMs: number): Promise<number> {
  const began = performance.now()
  while (running.isWriting() && performance.now() - began < maxMs) await withTimeout(running.ended, 10)
  return performance.now() - began
}

async function spawned(
  plan: Pick<ConfinedLaunch, 'file' | 'args' | 'cwd' | 'env'>,
  pipe: OutputPipe,
): Promise<ChildProcess> {
  try {
    const child = spawn(plan.file, plan.args, {
      cwd: plan.cwd,
      env: plan.env,
      detached: true,
      stdio: ['ignore', pipe.writeFd, pipe.writeFd],
    })
    if (child.pid === undefined) {
      // The reason is emitted as an event.
      throw await new Promise<Error>((resolve) => child.once('error', resolve))
    }
    return child
  } catch (error) {
    pipe.reader.destroy()
    throw new ShellStartError(whyNot(error, plan.cwd), error)
  } finally {
    closeSync(pipe.writeFd)
  }
}

function whyNot(error: unknown, cwd: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'E2BIG') {
    return 'The command is too long for the system (a single argument ends at 128 KB). Write it to a file and run that.'
  }
  if (code === 'ERR_INVALID_ARG_VALUE')
    return 'The command holds a NUL character, which no shell can read. Remove it.'
  if (code === 'ENOENT') return `The command did not start: ${cwd} or the shell itself does not exist.`
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE') {
    return 'The system has no room for another process or file at the moment. End background jobs, or try again later.'
  }
  return `The command did not start: ${messageOf(error)}`
}

function collect(pipe: OutputPipe, output: CapturedOutput): Pick<Running, 'ended' | 'isWriting'> {
  const { reader } = pipe
  let writing: Promise<void> = Promise.resolve()
  let isWriting = false
  const pause = pauseAfterSmallReads(reader)
  reader.on('data', (chunk: Buffer) => {
    pause(chunk)
    const pending = output.append(chunk)
    if (pending === undefined) return
    // Output that arrives faster than it can be written waits in the pipe, not in memory.
    reader.pause()
    isWriting = true
    writing = pending.finally(() => {
      isWriting = false
      reader.resume()
    })
  })
  const ended = new Promise<void>((resolve) => {
    // A read error is treated as the end of the pipe: the command's exit code shows the outcome.
    reader.on('error', () => void reader.destroy())
    reader.once('close', () => {
      writing.then(() => output.end()).then(resolve, resolve)
    })
  })
  return { ended, isWriting: () => isWriting }
}

function exitOf(exitCode: number | null, signal: NodeJS.Signals | null): Exit {
  return signal === null ? { exitCode } : { exitCode: null, signal }
}
