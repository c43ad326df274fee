import { type AgentEvent, isTerminal } from '../loop/events.js'
import { onAbort } from '../loop/on-abort.js'
import { type FlatValue, flatten, unflatten } from './flat-value.js'

/**
 * One event of a run with its sequence number. Numbers start at 1 and never change. A run of this process has no gaps;
 * one that was read from a log has gaps in place of streamed text.
 */
export type RunEvent = { readonly sequence: number; readonly timestampMs: number; readonly event: AgentEvent }

/** A method of what `watch` returns: the events before the place where watching begins, if still in memory. */
export const earlierEvents = Symbol('earlier events')

const maxPieces = 1_000
/** Longer lists are mostly pieces of text, which are small or shared already. */
const maxFlattened = 256

/** What a list is as long as it has no events of its own. */
const noEvents: AgentEvent[] = []

/** The events of one run, kept in memory up to a number; the oldest go first and are counted. */
export class RunEvents {
  readonly #most: number
  #kept: AgentEvent[] = noEvents
  /** The same in a smaller form, while the session waits. The objects are made again for each reader. */
  #flat: FlatValue | undefined
  /** When each came, in an array of its own: most events are a few letters of text, and few are read again. */
  #times: number[] = []
  /**
   * Pieces of one or two characters, by what they say: a model can send a million of them, and equal ones are kept as
   * one object.
   */
  #pieces: Map<string, AgentEvent> | undefined
  /** The highest number that is not in memory any more. */
  #dropped = 0
  /** The number of each, where they have gaps. */
  #numbers: number[] | undefined
  /** Reads the events of a run of an earlier process, with the first look at them. */
  #load: (() => readonly RunEvent[]) | undefined
  #lastLoaded = 0
  #watchers: Set<() => void> | undefined
  #ended = false

  constructor(most: number) {
    this.#most = most
  }

  /** How many there were, those that are no longer kept included. */
  get count(): number {
    if (this.#load !== undefined) return this.#lastLoaded
    return this.#numbers?.at(-1) ?? this.#dropped + this.#times.length
  }

  add(event: AgentEvent, timestampMs: number): void {
    if (this.#kept === noEvents) this.#kept = []
    this.#kept.push(this.#shared(event))
    this.#times.push(timestampMs)
    // In bulk, since every single shift would move all the others.
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

  /** The events of a run that is over, as its log has them. They are read when they are first asked for. */
  restore(
    rows: { readonly first?: number | undefined; readonly last?: number | undefined },
    load: () => readonly RunEvent[],
  ): void {
    // What was taken out of the log still counts.
    this.#dropped = Math.max(0, Math.floor(rows.first ?? 1) - 1)
    this.#lastLoaded = rows.last ?? 0
    this.#load = load
    this.#ended = true
  }

  #loaded(): void {
    if (this.#flat !== undefined && this.#kept === noEvents)
      this.#kept = unflatten(this.#flat) as AgentEvent[]
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
   * Follows the run from a sequence number on: what is kept first, then what comes, until the run ends. Watching is not
   * owning: a reader that stops cancels nothing, and a slow reader delays nothing. Dropped events are reported as
   * `events_missed`.
   */
  watch(from = 0, signal?: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    // Whatever is not a place in a run means its beginning.
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
        // More may have been dropped while the reader looked at that.
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

  /** Nothing comes any more: the lists need no room to grow. */
  #end(): void {
    this.#ended = true
    this.#pieces = undefined
    this.#kept = this.#kept.slice()
    this.#times = this.#times.slice()
  }

  /** Keeps the events in a smaller form, once no more come. */
  rest(): void {
    if (!this.#ended || this.#load !== undefined || this.#kept.length > maxFlattened) return
    this.#flat ??= flatten(this.#kept)
    this.#release()
  }

  /** Releases the objects that were made for a reader. */
  #release(): void {
    if (this.#flat !== undefined) this.#kept = noEvents
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
