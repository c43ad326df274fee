import { type AgentEvent, isTerminal } from '../loop/events.js'
import { onAbort } from '../loop/on-abort.js'
import { type FlatValue, flatten, unflatten } from './flat-value.js'

/**
 * One event of a run with its sequence number. Numbers start at 1 and never change. A run of this process has no gaps;
 * one that was read from a log has gaps instead of streamed text.
 */
export type RunEvent = { readonly sequence: number; readonly timestampMs: number; readonly event: AgentEvent }

/** A method of the object that `watch` returns: the events before its start, if they are still in memory. */
export const earlierEvents = Symbol('earlier events')

const maxPieces = 1_000
/** Longer lists are mostly pieces of text, which are small or already shared. */
const maxFlattened = 256

/** The shared empty lists of runs without events in memory. */
const noEvents: AgentEvent[] = []
const noTimes: number[] = []

/** The events of one run, in memory up to a maximum number; the oldest are dropped first and counted. */
export class RunEvents {
  readonly #most: number
  #kept: AgentEvent[] = noEvents
  /** The events and times in a smaller form, while the session waits. They are created again for each reader. */
  #flat: FlatValue | undefined
  /** The number of events in `#flat`. */
  #flatCount = 0
  /** The time of each event, in a separate array: most events are a few letters of text, and few are read again. */
  #times: number[] = noTimes
  /**
   * Pieces of one or two characters, by their text: a model can send a million of them, and equal ones share one
   * object.
   */
  #pieces: Map<string, AgentEvent> | undefined
  /** The highest sequence number that is no longer in memory. */
  #dropped = 0
  /** The sequence number of each event, if there are gaps. */
  #numbers: number[] | undefined
  /** Reads the events of a run from an earlier process, when they are first needed. */
  #load: (() => readonly RunEvent[]) | undefined
  #lastLoaded = 0
  #watchers: Set<() => void> | undefined
  #ended = false

  constructor(most: number) {
    this.#most = most
  }

  /** The number of events, including dropped ones. */
  get count(): number {
    if (this.#load !== undefined) return this.#lastLoaded
    const inMemory = this.#flat === undefined ? this.#times.length : this.#flatCount
    return this.#numbers?.at(-1) ?? this.#dropped + inMemory
  }

  add(event: AgentEvent, timestampMs: number): void {
    if (this.#kept === noEvents) {
      this.#kept = []
      this.#times = []
    }
    this.#kept.push(this.#shared(event))
    this.#times.push(timestampMs)
    // In bulk, because each single shift would move all other elements.
    if (this.#kept.length > this.#most + Math.max(16, this.#most >> 2)) this.#trim()
    if (isTerminal(event)) this.#end()
    for (const wake of this.#watchers ?? []) wake()
  }

  #shared(event: AgentEvent): AgentEvent {
    const isPiece =
      event.type === 'text_delta' || event.type === 'reasoning_delta' || event.type === 'tool_input_delta'
    if (!isPiece || event.text.length > 2) return event
    this.#pieces ??= new Map()
    const key = `${event.type} ${event.text} ${event.toolId ?? ''}`
    const known = this.#pieces.get(key)
    if (known !== undefined) return known
    if (this.#pieces.size < maxPieces) this.#pieces.set(key, event)
    return event
  }

  /** Sets the events of an ended run from its log. They are read when they are first needed. */
  restore(
    rows: { readonly first?: number | undefined; readonly last?: number | undefined },
    load: () => readonly RunEvent[],
  ): void {
    // Events that were removed from the log still count.
    this.#dropped = Math.max(0, Math.floor(rows.first ?? 1) - 1)
    this.#lastLoaded = rows.last ?? 0
    this.#load = load
    this.#ended = true
  }

  #loaded(): void {
    if (this.#flat !== undefined && this.#kept === noEvents) {
      const { events, times } = unflatten(this.#flat) as FlatEvents
      this.#kept = events
      this.#times = timesFrom(times)
    }
    const load = this.#load
    if (load === undefined) return
    this.#load = undefined
    const events = load()
    this.#kept = events.map(({ event }) => event)
    this.#times = events.map(({ timestampMs }) => timestampMs)
    this.#numbers = events.map(({ sequence }) => sequence)
    this.#trim()
  }

  list(): RunEvent[] {
    this.#loaded()
    this.#trim()
    const events = this.#kept.map((event, at) => this.#placed(event, at))
    this.#release()
    return events
  }

  /**
   * Follows the run after a sequence number: first the events in memory, then new ones, until the run ends. A reader
   * that stops does not cancel the run, and a slow reader does not delay it. Dropped events are reported as
   * `events_missed`.
   */
  watch(from = 0, signal?: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    // Any value that is not a position in a run means its beginning.
    const start = from > 0 ? Math.floor(from) : 0
    const earlier = (): RunEvent[] => this.list().filter(({ sequence }) => sequence <= start)
    return Object.assign(this.#follow(start, signal), { [earlierEvents]: earlier })
  }

  async *#follow(start: number, signal: AbortSignal | undefined): AsyncGenerator<RunEvent, void, undefined> {
    let last = start
    for (;;) {
      if (signal?.aborted) return
      this.#loaded()
      if (last < this.#dropped) {
        const count = this.#dropped - last
        last = this.#dropped
        const timestampMs = this.#times[0] ?? 0
        yield { sequence: last, timestampMs, event: { type: 'events_missed', count } }
        // More events may have been dropped while the reader processed this one.
        continue
      }
      const at = this.#numbers?.findIndex((number) => number > last) ?? last - this.#dropped
      const next = this.#kept[at]
      if (next !== undefined) {
        const placed = this.#placed(next, at)
        last = placed.sequence
        yield placed
      } else if (this.#ended) {
        this.#release()
        return
      } else await this.#more(signal)
    }
  }

  #trim(): void {
    const over = this.#kept.length - this.#most
    if (over <= 0) return
    this.#flat = undefined
    this.#kept = this.#kept.slice(over)
    this.#times = this.#times.slice(over)
    this.#dropped = this.#numbers?.[over - 1] ?? this.#dropped + over
    this.#numbers = this.#numbers?.slice(over)
  }

  /** No more events come: releases the spare capacity of the lists. */
  #end(): void {
    this.#ended = true
    this.#pieces = undefined
    this.#kept = this.#kept.slice()
    this.#times = this.#times.slice()
  }

  /** Stores the events in a smaller form, after the run has ended. */
  rest(): void {
    if (!this.#ended || this.#load !== undefined || this.#kept.length > maxFlattened) return
    if (this.#flat === undefined) {
      const flat: FlatEvents = { events: this.#kept, times: flatTimes(this.#times) }
      this.#flatCount = this.#times.length
      this.#flat = flatten(flat)
    }
    this.#release()
  }

  /** Releases the objects that were created for a reader. */
  #release(): void {
    if (this.#flat === undefined) return
    this.#kept = noEvents
    this.#times = noTimes
  }

  #placed(event: AgentEvent, at: number): RunEvent {
    const sequence = this.#numbers?.[at] ?? this.#dropped + at + 1
    return { sequence, timestampMs: this.#times[at] ?? 0, event }
  }

  #more(signal: AbortSignal | undefined): Promise<void> {
    this.#watchers ??= new Set()
    const watchers = this.#watchers
    return new Promise((resolve) => {
      let unfollow = (): void => undefined
      const wake = (): void => {
        watchers.delete(wake)
        unfollow()
        resolve()
      }
      watchers.add(wake)
      if (signal !== undefined) unfollow = onAbort(signal, wake)
    })
  }
}

type FlatEvents = { readonly events: AgentEvent[]; readonly times: FlatTimes }

/** Times, or the first time and the differences to the ones before, which are shorter in a compressed text. */
type FlatTimes = { readonly isDifferences: boolean; readonly values: number[] }

function flatTimes(times: number[]): FlatTimes {
  // Adding differences of other numbers could result in another time.
  if (!times.every(Number.isSafeInteger)) return { isDifferences: false, values: times }
  return { isDifferences: true, values: times.map((time, at) => time - (times[at - 1] ?? 0)) }
}

function timesFrom({ isDifferences, values }: FlatTimes): number[] {
  if (!isDifferences) return values
  let time = 0
  return values.map((difference) => {
    time += difference
    return time
  })
}
