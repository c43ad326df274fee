import { isRecord } from '../tool/json.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { factsOf, type HookEventName } from './events.js'

/**
 * The return value of a hook handler. Returning nothing is the same as `continue`. `modified` replaces the arguments
 * (`updatedInput`, or `args`) at `pre_tool_use`, and the prompt (`prompt`) at `pre_prompt` and `pre_planning`. `skip`
 * continues without the remaining hooks. `retry` requests another call of the hook after a delay.
 */
export type HookAnswer =
  | { readonly action: 'continue'; readonly modified?: HookChange }
  | { readonly action: 'block'; readonly reason?: string }
  | { readonly action: 'skip' }
  | { readonly action: 'retry'; readonly delayMs?: number; readonly reason?: string }
  | null
  | undefined
  | void

export type HookChange = {
  readonly updatedInput?: unknown
  readonly args?: unknown
  readonly prompt?: string
}

/** A valid answer; `change` names fields of the payload. */
export type ReadAnswer =
  | { readonly action: 'continue'; readonly change?: Readonly<Record<string, unknown>> }
  | { readonly action: 'block'; readonly reason: string }
  | { readonly action: 'skip' }
  | { readonly action: 'retry'; readonly delayMs: number; readonly reason?: string }
  | { readonly action: 'malformed'; readonly problem: string }

const actions = ['continue', 'block', 'skip', 'retry']
const known = ['action', 'modified', 'reason', 'delayMs']
const defaultDelayMs = 1000
const maxDelayMs = 60_000

/**
 * Parses what a handler returned. Anything that is not clearly an answer is malformed: it might have been meant to
 * block.
 */
export function readAnswer(event: HookEventName, answer: unknown): ReadAnswer {
  if (answer === null || answer === undefined) return { action: 'continue' }
  if (!isRecord(answer)) return malformed(`${shown(answer)} is not an answer`)
  const { action, modified, reason, delayMs } = answer
  if (typeof action !== 'string' || !actions.includes(action))
    return malformed(`its action is ${shown(action)}, not ${quoteNames(actions)}`)
  if (action === 'block')
    return { action, reason: typeof reason === 'string' && reason !== '' ? reason : 'Blocked by hook' }
  const stray = Object.keys(answer).find((name) => !known.includes(name))
  if (stray !== undefined) return malformed(`"${stray}" is not known${didYouMean(stray)}`)
  if (action === 'skip') return { action }
  if (action === 'continue') return readChange(event, modified)
  return readRetry(delayMs, reason)
}

function readChange(event: HookEventName, modified: unknown): ReadAnswer {
  if (modified === undefined || modified === null) return { action: 'continue' }
  if (!isRecord(modified)) return malformed('modified is not an object')
  const { changes = {} } = factsOf(event)
  const names = Object.keys(changes)
  const entries = Object.entries(modified).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return malformed('modified is empty')
  if (entries.length > 1) return malformed('modified has more than one change')
  for (const [name, value] of entries) {
    const field = Object.hasOwn(changes, name) ? changes[name] : undefined
    if (field === undefined) return malformed(cannotChange(event, name, names))
    if (field === 'prompt' && typeof value !== 'string') return malformed('modified.prompt is not a string')
    return { action: 'continue', change: { [field]: value } }
  }
  return { action: 'continue' }
}

function cannotChange(event: HookEventName, name: string, names: readonly string[]): string {
  const can = names.length === 0 ? 'nothing can be changed there' : `it can change ${quoteNames(names)}`
  return `modified.${name} has no effect at '${event}': ${can}`
}

function readRetry(delayMs: unknown, reason: unknown): ReadAnswer {
  const delay = delayMs ?? defaultDelayMs
  if (typeof delay !== 'number' || !(delay >= 0)) return malformed(`its delayMs is ${shown(delayMs)}`)
  const withReason = typeof reason === 'string' ? { reason } : {}
  return { action: 'retry', delayMs: Math.min(delay, maxDelayMs), ...withReason }
}

function malformed(problem: string): ReadAnswer {
  return { action: 'malformed', problem }
}

function didYouMean(name: string): string {
  const near = nearestNames(name, known)
  return near.length === 0 ? '' : `; did you mean ${quoteNames(near)}?`
}

/** Describes the kind of a value, not its content, which may be long or private. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40))
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return 'an array'
  return value === undefined ? 'missing' : `a value of type ${typeof value}`
}
