import { setMaxListeners } from 'node:events'
import { messageOf } from '../../tool/errors.js'
import { withTimeout } from '../../workspace/shell/with-timeout.js'
import type { Failure } from './failure.js'
import type { GuestCall } from './messages.js'
import type { CallAnswer, ProgramCalls } from './program-calls.js'
import type { ProgramClock } from './program-clock.js'
import { keyOf, type ProgramJournal, type ProgramStep, type Replay } from './program-journal.js'
import type { ProgramThread } from './thread.js'

export type AnswersOptions = {
  readonly thread: ProgramThread
  readonly calls: ProgramCalls
  readonly clock: ProgramClock
  readonly replay: Replay
  readonly journal?: ProgramJournal | undefined
  /** Milliseconds since the program started. */
  elapsed(): number
  /** The first step to record. */
  readonly begin: ProgramStep
  /** Called when the program cannot continue. */
  broken(failure: Failure): void
}

export interface Answers {
  /** Handles a request of the script. */
  take(call: GuestCall): void
  /** Reports that the thread has processed an answer, and all requests that the script made because of it. */
  taken(id: number): void
  /** Stops answering. Waits for calls that had started, so that the list of calls has the result of each. */
  end(): Promise<void>
}

/** How long calls that are still running have to stop. */
const callGraceMs = 2_000
const maxCallsAtOnce = 16
const maxSleepMs = 600_000
/** Answers of at least this size count as running until the thread has received them, so that they cannot pile up. */
const bulkyFrom = 256 * 1024

/**
 * Answers the requests of one script: with the recorded answers, in the same order, when it resumes in another
 * process; otherwise by making the call. The program's clock is paused while all pending calls wait for a user.
 */
export function createAnswers(options: AnswersOptions): Answers {
  const { thread, calls, clock, replay, journal, broken } = options
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const slots = createSlots(maxCallsAtOnce)
  const running = new Set<Promise<void>>()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const bulky = new Map<number, () => void>()
  /** Actions that wait until all recorded answers were delivered. */
  let later: (() => void)[] = []
  let lastSent = 0
  /** The time on the guest's clock; it never runs backwards. */
  let { at } = replay
  let busy = 0
  let waiting = 0
  /** Steps that are recorded with the next call: a sleep alone is repeated. */
  const unrecorded: ProgramStep[] = replay.program === undefined ? [options.begin] : []

  const count = (work: number, wait: number): void => {
    busy += work
    waiting += wait
    clock.wait(waiting > 0 && busy === 0)
  }
  const keep = async (steps: readonly ProgramStep[]): Promise<void> => {
    try {
      await journal?.add(steps)
    } catch (error) {
      const message = `program script error:\nits steps could not be saved: ${messageOf(error)}`
      broken({ code: 'program_crashed', message })
    }
  }
  const give = (call: GuestCall, { ok, text, call: made }: CallAnswer): void => {
    at = Math.max(at, Math.floor(options.elapsed()))
    if (journal !== undefined) {
      const answer = { step: 'answer', id: call.id, key: keyOf(call), ok, text, at } as const
      unrecorded.push(made === undefined ? answer : { ...answer, call: made })
      if (made !== undefined) void keep(unrecorded.splice(0))
    }
    thread.send({ kind: 'answer', id: call.id, ok, text, at, ack: bulky.has(call.id) })
  }
  const make = async (call: GuestCall, begunBefore: boolean): Promise<void> => {
    const free = await slots.take()
    if (over.signal.aborted) return free()
    let waits = false
    const watch = {
      waiting(now: boolean): void {
        if (now === waits) return
        waits = now
        count(now ? -1 : 1, now ? 1 : -1)
      },
    }
    count(1, 0)
    // The gate records calls that start; a verification is many calls, and none of them is known by its position in
    // the script.
    if (call.operation === 'verify' && !begunBefore && journal !== undefined)
      await keep([...unrecorded.splice(0), { step: 'call', id: call.id }])
    const answer = await (begunBefore
      ? calls.interrupted(call)
      : calls.answer(call, { signal: over.signal, watch }))
    watch.waiting(false)
    count(-1, 0)
    if (over.signal.aborted) return free()
    if (answer.text.length >= bulkyFrom) bulky.set(call.id, free)
    else free()
    give(call, answer)
  }
  const sleep = (call: GuestCall): void => {
    count(1, 0)
    const ms = Math.min(Number(call.text), maxSleepMs)
    const timer = setTimeout(() => {
      timers.delete(timer)
      count(-1, 0)
      give(call, { ok: true, text: 'null' })
    }, ms)
    timers.add(timer)
  }
  const start = (call: GuestCall, begunBefore: boolean): void => {
    if (call.operation === 'sleep') {
      sleep(call)
      return
    }
    const made = make(call, begunBefore).finally(() => running.delete(made))
    running.add(made)
  }
  /** Delivers the recorded answers, as far as the script has requested them. */
  const repeat = (): void => {
    for (let answer = replay.next(); answer !== undefined; answer = replay.next()) {
      const { id, ok, text } = answer
      lastSent = id
      thread.send({ kind: 'answer', id, ok, text, at: answer.at, ack: true })
    }
    if (!replay.over) return
    for (const begin of later) begin()
    later = []
  }

  return {
    take(call) {
      const met = replay.meet(call, journal === undefined ? '' : keyOf(call))
      if (met.how === 'other') broken(notRepeatable(`its request ${call.id} is a different one now`))
      else if (met.how === 'answered') {
        if (met.answer.call !== undefined) calls.restore(met.answer.call)
        repeat()
      } else {
        const begin = (): void => start(call, met.how === 'interrupted')
        if (replay.over) begin()
        else later.push(begin)
      }
    },
    taken(id) {
      bulky.get(id)?.()
      bulky.delete(id)
      if (!replay.over && id === lastSent) broken(notRepeatable('it did not repeat its earlier requests'))
    },
    async end() {
      over.abort(new DOMException('the program has ended', 'AbortError'))
      for (const timer of timers) clearTimeout(timer)
      slots.open()
      if (running.size > 0) await withTimeout(Promise.allSettled(running), callGraceMs)
    },
  }
}

/** A resumed program must repeat what it did before: anything else could repeat a call that was already made. */
export function notRepeatable(why: string): Failure {
  return {
    code: 'program_not_repeatable',
    message: `program script error:\nthe program was interrupted and cannot be resumed: ${why}. Its earlier calls were not repeated.`,
  }
}

interface Slots {
  /** Resolves, in the order of the calls, when a slot is free; the returned function frees the slot, once. */
  take(): Promise<() => void>
  /** Resolves all current and future waits. */
  open(): void
}

function createSlots(most: number): Slots {
  const waiting: (() => void)[] = []
  let taken = 0
  let isOpen = false
  const release = (): (() => void) => {
    let done = false
    return () => {
      if (done) return
      done = true
      const next = waiting.shift()
      if (next === undefined) taken--
      else next()
    }
  }
  return {
    async take() {
      if (taken < most || isOpen) taken++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release()
    },
    open() {
      isOpen = true
      for (const go of waiting.splice(0)) go()
    },
  }
}
