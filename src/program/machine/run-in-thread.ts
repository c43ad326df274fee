import { parseJsonText } from '../../tool/json-text.js'
import { createAnswers, notRepeatable } from './answers.js'
import { type Failure, failureOf } from './failure.js'
import { delegatingTimeoutMs, type ProgramLimits } from './limits.js'
import type { ConsoleLine, Program, ProgramOutcome } from './machine.js'
import type { FromThread, ToThread } from './messages.js'
import { createProgramCalls } from './program-calls.js'
import { type ProgramClock, startProgramClock } from './program-clock.js'
import { createReplay, digestOf } from './program-journal.js'
import type { ProgramThread, ThreadEnd } from './thread.js'
import type { ThreadPool } from './thread-pool.js'

export type ThreadRun = {
  readonly program: Program
  readonly limits: ProgramLimits
  /** The inputs as JSON. */
  readonly inputs: string
  readonly thread: ProgramThread
  readonly pool: ThreadPool
  readonly signal: AbortSignal
  readonly memoryBytes: number
  /** For TypeScript: the URL of the module that removes types. */
  readonly stripper?: string
}

/** Runs one program in its own thread and leaves nothing of it behind. */
export async function runInThread(run: ThreadRun): Promise<ProgramOutcome> {
  const { program, limits, thread, pool, signal } = run
  const { journal } = program
  const clock = startProgramClock(thread.clock, limits.timeoutMs)
  const calls = createProgramCalls(program.host, program.allows ?? (() => true), limits, () => {
    if (program.limits?.timeoutMs === undefined) clock.extend(delegatingTimeoutMs)
  })
  const lines: ConsoleLine[] = []
  const replay = createReplay(journal ?? nothingKept)
  let broken: (failure: Failure) => void = () => undefined
  const breaking = new Promise<RunEnd>((resolve) => {
    broken = (failure) => resolve({ kind: 'broken', failure })
  })
  const startedAt = replay.startedAt ?? program.startedAt
  const identity = journal === undefined ? '' : identityOf(run)
  const answers = createAnswers({
    thread,
    calls,
    clock,
    replay,
    elapsed: () => (program.now === undefined ? replay.at + clock.elapsed() : program.now() - startedAt),
    begin: { step: 'begin', program: identity, startedAt },
    broken,
    journal,
  })
  const hear = (message: FromThread): void => {
    if (message.kind === 'log') lines.push({ level: message.level, text: message.text })
    else if (message.kind === 'taken') answers.taken(message.id)
    else if (message.kind === 'calls') for (const call of message.calls) answers.take(call)
  }

  const changed = replay.program !== undefined && replay.program !== identity
  const ended = changed
    ? ({ kind: 'broken', failure: notRepeatable('the script has changed') } as const)
    : await untilEnd(run, startOf(run, startedAt, !replay.over), { hear, clock, breaking })
  clock.stop()
  await answers.end()
  if (ended.kind === 'result') pool.release(thread)
  else await pool.discard(thread)
  const timeoutMs = clock.limitMs()
  const done = { calls: calls.list(), console: lines, limits: { ...limits, timeoutMs } }
  if (ended.kind === 'result' && !replay.over)
    return {
      ...done,
      ok: false,
      ...notRepeatable('it ended before it had repeated all of its requests'),
    }
  if (ended.kind === 'result') return { ...done, ok: true, result: parseJsonText(ended.text) }
  return { ...done, ok: false, ...failureOf(ended, { signal, timeoutMs, memoryBytes: run.memoryBytes }) }
}

const nothingKept = { before: [], begun: new Set<number>() }

export type RunEnd =
  | ThreadEnd
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'broken'; readonly failure: Failure }

/** Returns the identity of a program: everything that decides what it does, except the answers. */
function identityOf({ program, inputs, limits }: ThreadRun): string {
  const { source, fileName, language } = program
  return digestOf(JSON.stringify([source, fileName, language, inputs, limits]))
}

function startOf(run: ThreadRun, startedAt: number, ack: boolean): ToThread {
  const { source, fileName = 'program.js' } = run.program
  const { maxToolCalls, maxOutputBytes: maxResultBytes } = run.limits
  const stripper = run.stripper === undefined ? {} : { stripper: run.stripper }
  const script = { source, fileName, inputs: run.inputs, ...stripper }
  return { kind: 'start', ...script, startedAt, maxToolCalls, maxResultBytes, ack }
}

type ThreadEnvironment = {
  hear(message: FromThread): void
  readonly clock: ProgramClock
  readonly breaking: Promise<RunEnd>
}

/** Starts the program and waits for its end, its time limit or the signal. Terminates a thread that does not stop. */
async function untilEnd(
  { thread, signal }: ThreadRun,
  start: ToThread,
  { hear, clock, breaking }: ThreadEnvironment,
): Promise<RunEnd> {
  let stop: (how: RunEnd) => void = () => undefined
  const stopped = new Promise<RunEnd>((resolve) => {
    stop = resolve
  })
  const abort = (): void => stop({ kind: 'aborted' })
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const up = clock.up.then((): RunEnd => ({ kind: 'timeout' }))
  try {
    const ended = await Promise.race([thread.converse(start, hear), stopped, breaking, up])
    if (ended.kind === 'timeout' || ended.kind === 'aborted' || ended.kind === 'broken') await thread.close()
    return ended
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
