import { isRecord } from '../tool/json.js'
import type { BlockingEvent } from './protocol.js'

/** A supervisor's decision about one event, after parsing. */
export type Decision =
  | { readonly action: 'allow' }
  | { readonly action: 'block'; readonly reason: string }
  /** `value` replaces what the event was about: arguments or a prompt. */
  | { readonly action: 'modify'; readonly value: unknown }
  | { readonly action: 'defer'; readonly afterMs: number; readonly reason: string }
  | { readonly action: 'escalate'; readonly reason: string }
  | { readonly action: 'malformed'; readonly problem: string }

/** The names of each action. Names for one kind of event mean the same as the general ones, never more. */
const words: Readonly<Record<string, 'allow' | 'block' | 'modify' | 'defer' | 'escalate'>> = {
  allow: 'allow',
  approve: 'allow',
  retry: 'allow',
  queue: 'allow',
  block: 'block',
  reject: 'block',
  skip: 'block',
  modify: 'modify',
  refine: 'modify',
  defer: 'defer',
  escalate: 'escalate',
}

/** Names that are valid for some events only. */
const onlyFor: Readonly<Record<string, readonly BlockingEvent[]>> = {
  approve: ['confirmation'],
  reject: ['confirmation'],
  retry: ['rate_limit'],
  queue: ['rate_limit'],
  skip: ['rate_limit'],
  refine: ['planning'],
}

/** The member of the payload that can be replaced, for the events that allow it. */
const replaced: Partial<Record<BlockingEvent, string>> = {
  pre_action: 'arguments',
  pre_prompt: 'prompt',
  planning: 'prompt',
}

/** Parses a decision. An unclear decision is malformed, because it may have been meant to block. */
export function readDecision(
  event: BlockingEvent,
  answer: unknown,
  asked: Readonly<Record<string, unknown>>,
): Decision {
  if (!isRecord(answer)) return malformed('its answer is not a decision')
  const word = answer['decision']
  const action = typeof word === 'string' && Object.hasOwn(words, word) ? words[word] : undefined
  const events = typeof word === 'string' && Object.hasOwn(onlyFor, word) ? onlyFor[word] : undefined
  if (action === undefined || (events !== undefined && !events.includes(event)))
    return malformed(`its decision is not one of allow, block, modify, defer and escalate`)
  const { reason: given, modified_payload: change } = answer
  const reason = typeof given === 'string' && given.trim() !== '' ? given : 'it gave no reason'
  switch (action) {
    case 'block':
      return { action, reason }
    case 'escalate':
      return { action, reason }
    case 'defer':
      return readDefer(answer['retry_after_ms'], reason)
    case 'modify':
      return readChange(event, change ?? changedTask(answer), asked)
    default:
      return change === undefined || change === null ? { action } : readChange(event, change, asked)
  }
}

/** Reads the older form of a changed plan. */
function changedTask({ modified_task: task }: Readonly<Record<string, unknown>>): unknown {
  return task === undefined ? undefined : { prompt: task }
}

function readDefer(afterMs: unknown, reason: string): Decision {
  if (typeof afterMs !== 'number' || !(afterMs >= 0)) return malformed('it defers without a retry_after_ms')
  return { action: 'defer', afterMs, reason }
}

function readChange(
  event: BlockingEvent,
  change: unknown,
  asked: Readonly<Record<string, unknown>>,
): Decision {
  const member = replaced[event]
  if (member === undefined) return malformed(`it modifies a ${event}, where nothing can be replaced`)
  if (!isRecord(change) || !Object.hasOwn(change, member))
    return malformed(`it modifies without a modified_payload.${member}`)
  // A call of another tool is another call: it would have to be offered, requested and judged separately.
  if (change['tool'] !== undefined && change['tool'] !== asked['tool'])
    return malformed('it puts another tool in the place of the one that was called')
  const value = change[member]
  if (member === 'prompt' && typeof value !== 'string')
    return malformed('its modified_payload.prompt is not text')
  if (member === 'arguments' && !isRecord(value))
    return malformed('its modified_payload.arguments is not an object')
  return { action: 'modify', value }
}

function malformed(problem: string): Decision {
  return { action: 'malformed', problem }
}
