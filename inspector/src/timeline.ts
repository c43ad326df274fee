import type { AgentEvent } from '../../src/loop/events.js'
import type { TimedEvent } from './api.js'
import { count } from './format.js'

type Ended = Extract<AgentEvent, { type: 'tool_end' }>
type Asked = Extract<AgentEvent, { type: 'confirmation_required' }>

/** One tool call, from its beginning to its end. */
export type CallItem = {
  readonly kind: 'call'
  readonly key: string
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
}

/** One entry of a session's timeline. */
export type Item =
  | CallItem
  | {
      readonly kind: 'prompt' | 'steer' | 'text' | 'reasoning'
      readonly key: string
      text: string
      readonly atMs: number
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
  | { readonly kind: 'event'; readonly key: string; readonly event: AgentEvent; readonly atMs: number }

export type RoundUsage = Extract<AgentEvent, { type: 'turn_end' }>['usage']

/** Folds the events of runs into entries, one event at a time. */
export class Timeline {
  readonly items: Item[] = []
  readonly #calls = new Map<string, CallItem>()
  #round: Extract<Item, { kind: 'round' }> | undefined
  #roundStart = 0
  #run = ''

  add({ sequence, timestampMs: atMs, event }: TimedEvent): void {
    const key = `${this.#run}:${sequence}`
    switch (event.type) {
      case 'agent_start':
        this.#run = event.runId
        this.items.push({ kind: 'prompt', key: `${event.runId}:${sequence}`, text: event.prompt, atMs })
        return
      case 'steered':
        this.items.push({ kind: 'steer', key, text: event.prompt, atMs })
        return
      case 'turn_start':
        this.#round = { kind: 'round', key, turn: event.turn, atMs }
        this.items.push(this.#round)
        this.#roundStart = this.items.length
        return
      case 'turn_end':
        if (this.#round !== undefined)
          Object.assign(this.#round, { endedAtMs: atMs, usage: event.usage, finish: event.finish })
        return
      case 'answer_restarted':
        this.items.length = Math.min(this.items.length, this.#roundStart)
        this.items.push({ kind: 'event', key, event, atMs })
        this.#roundStart = this.items.length
        return
      case 'text_delta':
      case 'reasoning_delta':
        this.#text(event.type === 'text_delta' ? 'text' : 'reasoning', key, event.text, event.whole, atMs)
        return
      case 'tool_start':
        this.#call(event.toolId, event.toolName, atMs, event.title)
        return
      case 'tool_input_delta': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.args += event.text
        return
      }
      case 'tool_execution_start': {
        const call = this.#call(event.toolId, event.toolName, atMs, event.title)
        Object.assign(call, { args: event.args, startedAtMs: atMs })
        return
      }
      case 'tool_output_delta': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.output = event.whole ? event.text : call.output + event.text
        return
      }
      case 'confirmation_required': {
        const call = this.#call(event.toolId, event.toolName, atMs, event.title)
        call.asked = { event, atMs }
        return
      }
      case 'confirmation_received': {
        const { approved, reason, decision, by, toolId } = event
        const call = this.#calls.get(toolId)
        if (call !== undefined) call.answered = { approved, reason, decision, by, atMs }
        return
      }
      case 'confirmation_timeout': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined)
          call.answered = { approved: event.actionTaken === 'auto_approved', atMs, isTimeout: true }
        return
      }
      case 'permission_denied': {
        const call = this.#calls.get(event.toolId)
        if (call !== undefined) call.denied = event.reason
        return
      }
      case 'tool_end': {
        const call = this.#call(event.toolId, event.toolName, atMs, event.title)
        Object.assign(call, { end: event, endedAtMs: atMs, output: event.toolOutput || call.output })
        this.#calls.delete(event.toolId)
        return
      }
      case 'agent_end': {
        const { totalTokens, costUsd, rounds, toolCallsCount } = event.result
        const cost = costUsd === undefined ? '' : `, $${costUsd.toFixed(4)}`
        const text = `${count(rounds, 'round')}, ${count(toolCallsCount, 'call')}, ${count(totalTokens, 'token')}${cost}`
        this.items.push({ kind: 'end', key, status: 'completed', text, atMs })
        return
      }
      case 'error':
        this.items.push({ kind: 'end', key, status: 'failed', text: event.error, atMs })
        return
      case 'agent_cancelled':
        this.items.push({ kind: 'end', key, status: 'cancelled', text: event.reason, atMs })
        return
      default:
        this.items.push({ kind: 'event', key, event, atMs })
    }
  }

  #call(toolId: string, toolName: string, atMs: number, title: string | undefined): CallItem {
    const known = this.#calls.get(toolId)
    if (known !== undefined) return known
    const key = `${this.#run}:call:${toolId}`
    const call: CallItem = {
      kind: 'call',
      key,
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
    text: string,
    isWhole: true | undefined,
    atMs: number,
  ): void {
    const known = this.items.slice(this.#roundStart).findLast((item) => item.kind === kind)
    if (known === undefined || (known.kind !== 'text' && known.kind !== 'reasoning'))
      this.items.push({ kind, key, text, atMs })
    else known.text = isWhole ? text : known.text + text
  }
}

/** The verdict on a call in one word. */
export function verdictOf({ end, asked, answered, denied }: CallItem): {
  readonly label: string
  readonly tone: 'allow' | 'ask' | 'deny' | 'none'
} {
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
