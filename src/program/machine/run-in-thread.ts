import { setMaxListeners } from 'node:events'
import { parseJsonText } from '../../tool/json-text.js'
import { failureOf } from './failure.js'
import { maxResultBytes, type ProgramLimits } from './limits.js'
import type { ConsoleLine, Program, ProgramOutcome } from './machine.js'
import type { FromThread, GuestCall } from './messages.js'
import { createProgramCalls } from './program-calls.js'
import { createSlots } from './slots.js'
import { monotonic, type ProgramThread, type ThreadEnd } from './thread.js'
import type { ThreadPool } from './thread-pool.js'

export type ThreadRun = {
  readonly program: Program
  readonly limits: ProgramLimits
  /** As JSON. */
  readonly inputs: string
  readonly thread: ProgramThread
  readonly pool: ThreadPool
  readonly signal: AbortSignal
  readonly memoryBytes: number
}

/** How long the engine has to stop by itself once the time is up, before its thread is ended. */
const stopGraceMs = 50
/** How long calls that were still running may take to stop. */
const callGraceMs = 2_000
const maxCallsAtOnce = 16
/** Answers from this size on count as running until the thread has taken them, so that they cannot pile up. */
const bulkyFrom = 256 * 1024

/** Runs one program in a thread that is its own, and leaves nothing of it behind. */
export async function runInThread(run: ThreadRun): Promise<ProgramOutcome> {
  const { program, limits, thread, pool, signal } = run
  const calls = createProgramCalls(program.host, program.allows ?? (() => true), limits)
  const lines: ConsoleLine[] = []
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const running = new Set<Promise<void>>()
  const slots = createSlots(maxCallsAtOnce)
  const bulky = new Map<number, () => void>()

  const make = async (call: GuestCall): Promise<void> => {
    const free = await slots.take()
    if (over.signal.aborted) return free()
    const { ok, text } = await calls.answer(call, over.signal)
    if (over.signal.aborted) return free()
    if (text.length >= bulkyFrom) bulky.set(call.id, free)
    else free()
    thread.send({ kind: 'answer', id: call.id, ok, text })
  }
  const hear = (message: FromThread): void => {
    if (message.kind === 'log') lines.push({ level: message.level, text: message.text })
    if (message.kind === 'taken') bulky.get(message.id)?.()
    if (message.kind !== 'calls') return
    for (const call of message.calls) {
      const made = make(call).finally(() => running.delete(made))
      running.add(made)
    }
  }

  const ended = await untilEnd(run, hear)
  over.abort(new DOMException('the program is over', 'AbortError'))
  slots.open()
  // What had started is waited for, so that the list of calls says how each of them ended.
  await settledWithin(running, callGraceMs)
  if (ended.kind === 'result') pool.giveBack(thread)
  else await pool.discard(thread)
  const done = { calls: calls.list(), console: lines }
  if (ended.kind === 'result') return { ...done, ok: true, result: parseJsonText(ended.text) }
  return { ...done, ok: false, ...failureOf(ended, { signal, limits, memoryBytes: run.memoryBytes }) }
}

export type RunEnd = ThreadEnd | { readonly kind: 'timeout' } | { readonly kind: 'aborted' }

/** Starts the program and waits for it, for its time to be up, or for the signal. A thread that goes on is ended. */
async function untilEnd(run: ThreadRun, hear: (message: FromThread) => void): Promise<RunEnd> {
  const { program, limits, thread, signal } = run
  let stop: (how: RunEnd) => void = () => undefined
  const stopped = new Promise<RunEnd>((resolve) => {
    stop = resolve
  })
  const abort = (): void => stop({ kind: 'aborted' })
  const timer = setTimeout(() => stop({ kind: 'timeout' }), limits.timeoutMs + stopGraceMs)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  thread.setDeadline(monotonic() + limits.timeoutMs)
  try {
    const { source, fileName = 'program.js', startedAt } = program
    const { maxToolCalls } = limits
    const start = {
      kind: 'start',
      source,
      fileName,
      inputs: run.inputs,
      startedAt,
      maxToolCalls,
      maxResultBytes,
    } as const
    const ended = await Promise.race([thread.converse(start, hear), stopped])
    if (ended.kind === 'timeout' || ended.kind === 'aborted') await thread.close()
    return ended
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

async function settledWithin(running: ReadonlySet<Promise<void>>, graceMs: number): Promise<void> {
  if (running.size === 0) return
  let timer: ReturnType<typeof setTimeout> | undefined
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs)
  })
  await Promise.race([Promise.allSettled(running), grace])
  clearTimeout(timer)
}
