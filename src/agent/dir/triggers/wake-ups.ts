import type { RunRow } from '../../../store/records.js'
import type { Message } from '../../../tool/completion.js'
import type { AnyTool } from '../../../tool/contract.js'
import { builtInTool } from '../../../tool/create-json-tool.js'
import { errorEnvelope } from '../../../tool/envelope.js'
import { tryOr } from '../../../tool/errors.js'
import { isRecord } from '../../../tool/json.js'
import { objectSchema } from '../../../tool/object-schema.js'

/** A time at which the model wants to be prompted again, and its note for that time. */
export type WakeUp = { readonly atMs: number; readonly note: string }

/**
 * The wake-ups that the model of one schedule requested. They are stored in the log, as results of the tool, so that
 * they survive the process. At most `max` can be made or pending since the last fire that was not a wake-up, so that a
 * model cannot keep itself running forever.
 */
export class WakeUps {
  readonly #max: number
  readonly #now: () => number
  readonly #pending = new Map<number, WakeUp>()
  /** Wake-ups that were made since the last other fire. */
  #made = 0

  constructor(max: number, now: () => number) {
    this.#max = max
    this.#now = now
  }

  /** Restores the wake-ups from the log, which an earlier process or this one wrote. */
  restore(messages: Iterable<Message>, runs: Iterable<RunRow>): void {
    this.#pending.clear()
    this.#made = 0
    const fired = new Set<number>()
    for (const { trigger } of runs) {
      if (trigger?.source === 'wake_up') fired.add(trigger.fired_at)
      this.begun(trigger?.source)
    }
    for (const message of messages) {
      if (message.role !== 'tool') continue
      for (const { toolName, content } of message.content) {
        if (toolName !== toolId) continue
        const wakeUp = readWakeUp(content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
        if (wakeUp !== undefined && !fired.has(wakeUp.atMs)) this.#pending.set(wakeUp.atMs, wakeUp)
      }
    }
  }

  /** Records the start of a run. A run that is not a wake-up resets the count. */
  begun(source: string | undefined): void {
    this.#made = source === 'wake_up' ? this.#made + 1 : 0
  }

  next(): number | undefined {
    return this.#pending.size === 0 ? undefined : Math.min(...this.#pending.keys())
  }

  /** Removes and returns the wake-ups that are due, earliest first. */
  takeDue(now: number): WakeUp[] {
    const due = [...this.#pending.values()].filter(({ atMs }) => atMs <= now)
    for (const { atMs } of due) this.#pending.delete(atMs)
    return due.toSorted((a, b) => a.atMs - b.atMs)
  }

  /** The tool with which the model requests a wake-up. */
  tool(): AnyTool {
    return builtInTool<{ after_seconds: number; note: string }>({
      name: toolId,
      description:
        'Ask to be woken later, in this session, with your note. Use it to wait for something that takes time. Returns the time.',
      kind: 'other',
      requires: { capabilities: ['schedule.wake'] },
      touches: () => [{ capability: 'schedule.wake' }],
      parameters: objectSchema({
        after_seconds: { type: 'integer', minimum: minDelaySeconds, maximum: maxDelaySeconds },
        note: { type: 'string', minLength: 1, maxLength: maxNoteLength },
      }),
      execute: ({ after_seconds, note }) => {
        if (this.#pending.size + this.#made >= this.#max)
          return errorEnvelope(
            `All ${this.#max} wake-ups are used. They are available again after the next fire of the schedule.`,
          )
        let atMs = this.#now() + after_seconds * 1_000
        while (this.#pending.has(atMs)) atMs++
        this.#pending.set(atMs, { atMs, note })
        return { wake_at_ms: atMs, wake_at: new Date(atMs).toISOString(), note }
      },
    })
  }
}

const toolId = 'wake_up'
const minDelaySeconds = 60
const maxDelaySeconds = 7 * 86_400
const maxNoteLength = 1_000

function readWakeUp(text: string): WakeUp | undefined {
  // A result that is not JSON is an error, which contains no time.
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  if (!isRecord(value)) return undefined
  const { wake_at_ms: atMs, note } = value
  return typeof atMs === 'number' && Number.isFinite(atMs) && typeof note === 'string'
    ? { atMs, note }
    : undefined
}
