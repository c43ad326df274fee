import type { AgentEvent } from '../../src/loop/events.js'
import type { TimedEvent } from './api.js'
import { count } from './format.js'
import type { CutEvent } from './load-session.js'

type Ended = Extract<AgentEvent, { type: 'tool_end' }>
type Asked = Extract<AgentEvent, { type: 'confirmation_required' }>

/** One tool call, from its beginning to its end. */
export type CallItem = {
  readonly kind: 'call'
  readonly key: string
  readonly runId: string
  readonly toolId: string
  toolName: string
  title?: string | undefined
  args: string
  output: string
  startedAtMs: number
  endedAtMs?: number | undefined
  end?: Ended | undefined
  asked?: { readonly event: Asked; readonly atMs: number } | undefined
  answered?:
    | {
        readonly approved: boolean
        readonly reason?: string | undefined
        readonly decision?: string | undefined
        readonly by?: string | undefined
        readonly atMs: number
        readonly isTimeout?: boolean
      }
    | undefined
  denied?: string | undefined
  cut?: CutEvent[] | undefined
  /** True when the call was made in the session that this one was forked from, whose log has its verdict. */
  readonly isCopied?: true
}

/** One entry of a session's timeline. */
export type Item =
  | CallItem
  | {
      readonly kind: 'prompt' | 'steer' | 'text' | 'reasoning'
      readonly key: string
      text: string
      /** Undefined for entries that a fork copied. */
      readonly atMs: number | undefined
      /** Of a prompt. */
      readonly runId?: string | undefined
      /** The events whose texts were not read completely. */
      cut?: CutEvent[] | undefined
    }
  | {
      readonly kind: 'round'
      readonly key: string
      readonly turn: number
      readonly atMs: number
      endedAtMs?: number | undefined
      usage?: RoundUsage | undefined
      finish?: string | undefined
    }
  | {
      readonly kind: 'end'
      readonly key: string
      readonly status: 'completed' | 'failed' | 'cancelled'
      readonly text: string
      readonly atMs: number
    }
  /** Before what a fork copied. */
  | { readonly kind: 'copied'; readonly key: string }
  | {
      readonly kind: 'event'
      readonly key: string
      readonly event: AgentEvent
      readonly atMs: number
      cut?: CutEvent[] | undefined
    }

export type RoundUsage = Extract<AgentEvent, { type: 'turn_end' }>['usage']

/** Folds the events of runs into entries, one event at a time. */
export class Timeline {
  readonly items: Item[] = []
  readonly #calls = new Map<string, CallItem>()
  #round: Extract<Item, { kind: 'round' }> | undefined
  #roundStart = 0
  #run = ''

  add(timed: TimedEvent): void {
    const item = this.#add(timed)
    const { runId, sequence, cutChars: chars = 0 } = timed
    if (item !== undefined && hasTexts(item) && chars > 0)
      item.cut = [...(item.cut ?? []), { runId, sequence, chars }]
  }

  /** Returns the entry that the event is part of. */
  #add({ sequence, timestampMs: atMs, event }: TimedEvent): Item | undefined {
    const key = `${this.#run}:${sequence}`
    switch (event.type) {
      case 'agent_start':
        this.#run = event.runId
        return this.#push({
          kind: 'prompt',
          key: `${event.runId}:${sequence}`,
          text: event.prompt,
          atMs,
          runId: event.runId,
        })
      case 'steered':
        return this.#push({ kind: 'steer', key, text: event.prompt, atMs })
      case 'turn_start':
        this.#round = { kind: 'round', key, turn: event.turn, atMs }
        this.#push(this.#round)
        this.#roundStart = this.items.length
        return this.#round
      case 'turn_end':
        if (this.#round !== undefined)
          Object.assign(this.#round, { endedAtMs: atMs, usage: event.usage, finish: event.finish })
        return this.#round
      case 'answer_restarted': {
        this.items.length = Math.min(this.items.length, this.#roundStart)
        const item = this.#push({ kind: 'event', key, event, atMs })
        this.#roundStart = this.items.length
        return item
      }
      case 'text_delta':
      case 'reasoning_delta':
        return this.#text(event.type === 'text_delta' ? 'text' : 'reasoning', key, event, atMs)
      case 'tool_start':
        return this.#call(event.toolId, event.toolName, atMs, event.title)
      case 'tool_input_delta': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.args += event.text
        return call
      }
      case 'tool_execution_start': {
        const call = this.#call(event.toolId, event.toolName, atMs, event.title)
        // The complete arguments replace the streamed pieces.
        return Object.assign(call, { args: event.args, startedAtMs: atMs, cut: undefined })
      }
      case 'tool_output_delta': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.output = event.whole ? event.text : call.output + event.text
        return call
      }
      case 'confirmation_required':
        return Object.assign(this.#call(event.toolId, event.toolName, atMs, event.title), {
          asked: { event, atMs },
        })
      case 'confirmation_received': {
        const { approved, reason, decision, by, toolId } = event
        const call = this.#calls.get(toolId)
        if (call !== undefined) call.answered = { approved, reason, decision, by, atMs }
        return call
      }
      case 'confirmation_timeout': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined)
          call.answered = { approved: event.actionTaken === 'auto_approved', atMs, isTimeout: true }
        return call
      }
      case 'permission_denied': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.denied = event.reason
        return call
      }
      case 'tool_end': {
        const call = this.#call(event.toolId, event.toolName, atMs, event.title)
        Object.assign(call, { end: event, endedAtMs: atMs, output: event.toolOutput || call.output })
        this.#calls.delete(event.toolId)
        return call
      }
      case 'agent_end': {
        const { totalTokens, costUsd, rounds, toolCallsCount } = event.result
        const cost = costUsd === undefined ? '' : `, $${costUsd.toFixed(4)}`
        const text = `${count(rounds, 'round')}, ${count(toolCallsCount, 'call')}, ${count(totalTokens, 'token')}${cost}`
        return this.#push({ kind: 'end', key, status: 'completed', text, atMs })
      }
      case 'error':
        return this.#push({ kind: 'end', key, status: 'failed', text: event.error, atMs })
      case 'agent_cancelled':
        return this.#push({ kind: 'end', key, status: 'cancelled', text: event.reason, atMs })
      default:
        return this.#push({ kind: 'event', key, event, atMs })
    }
  }

  #push(item: Item): Item {
    this.items.push(item)
    return item
  }

  #call(toolId: string, toolName: string, atMs: number, title: string | undefined): CallItem {
    const known = this.#calls.get(toolId)
    if (known !== undefined) return known
    const key = `${this.#run}:call:${toolId}`
    const call: CallItem = {
      kind: 'call',
      key,
      runId: this.#run,
      toolId,
      toolName,
      title,
      args: '',
      output: '',
      startedAtMs: atMs,
    }
    this.#calls.set(toolId, call)
    this.items.push(call)
    return call
  }

  #text(
    kind: 'text' | 'reasoning',
    key: string,
    { text, whole }: { readonly text: string; readonly whole?: true | undefined },
    atMs: number,
  ): Item {
    const known = this.items.slice(this.#roundStart).findLast((item) => item.kind === kind)
    if (known === undefined || (known.kind !== 'text' && known.kind !== 'reasoning'))
      return this.#push({ kind, key, text, atMs })
    if (whole) Object.assign(known, { text, cut: undefined })
    else known.text += text
    return known
  }
}

function hasTexts(item: Item): item is Exclude<Item, { kind: 'round' | 'end' | 'copied' }> {
  return item.kind !== 'round' && item.kind !== 'end' && item.kind !== 'copied'
}

/** The number of characters of the texts of an entry that were not read. */
export function cutChars(item: Item): number {
  if (!hasTexts(item)) return 0
  return (item.cut ?? []).reduce((sum, { chars }) => sum + chars, 0)
}

/** The verdict on a call in one word. */
export function verdictOf({ end, asked, answered, denied, isCopied }: CallItem): {
  readonly label: string
  readonly tone: 'allow' | 'ask' | 'deny' | 'none'
} {
  if (isCopied) return { label: 'copied', tone: 'none' }
  if (asked !== undefined && answered === undefined && end === undefined)
    return { label: 'waits for approval', tone: 'ask' }
  if (denied !== undefined)
    return { label: answered?.approved === false ? 'rejected' : 'denied', tone: 'deny' }
  if (answered?.approved === true)
    return { label: `approved (${answered.decision ?? 'once'})`, tone: 'allow' }
  const { judged, approval } = end?.decision ?? {}
  if (approval !== undefined) return { label: `approved (${approval})`, tone: 'allow' }
  if (judged?.action === 'allow') return { label: 'allowed', tone: 'allow' }
  return end === undefined ? { label: 'running', tone: 'none' } : { label: 'ended', tone: 'none' }
}
