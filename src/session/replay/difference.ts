import type { Message } from '../../tool/completion.js'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'

/** The first difference between a replay and its recording. */
export type ReplayDifference = {
  /** The position of the message, from 0. */
  readonly position: number
  /** The id of the recorded message, if there is one. */
  readonly messageId?: string
  /** The recorded message. Absent: nothing was recorded there. */
  readonly expected?: Message
  /** The message of the replay. Absent: there was none. */
  readonly found?: Message
  /** The difference as a sentence, with the exact position inside the message. */
  readonly words: string
}

/** Thrown when a recorded model gets another request than the recorded one. */
export class ReplayError extends CapstanError {
  readonly difference: ReplayDifference

  constructor(difference: ReplayDifference) {
    super('replay_difference', difference.words)
    this.difference = difference
  }
}

markErrorClass(ReplayError, 'ReplayError')

/** Returns the first difference between two messages; undefined when they have the same content. */
export function differenceAt(
  position: number,
  expected: Message | undefined,
  found: Message | undefined,
  messageId?: string,
): ReplayDifference | undefined {
  const at = expected && found && firstDifference(plain(expected), plain(found), '')
  if (expected !== undefined && found !== undefined && at === undefined) return undefined
  return {
    position,
    ...omitUndefined({ messageId, expected, found }),
    words: wordsFor(position, expected, found, at),
  }
}

type Place = { readonly path: string; readonly expected: unknown; readonly found: unknown }

/** Returns the content to compare: providers generate new ids and signatures each time, and reasoning may differ. */
function plain(message: Message): unknown {
  if (message.role !== 'assistant') return message
  return {
    role: message.role,
    content: message.content.flatMap((part): object[] => {
      if (part.type === 'reasoning') return []
      return part.type === 'tool_call' ? [{ type: part.type, function: part.function }] : [part]
    }),
  }
}

function firstDifference(expected: unknown, found: unknown, path: string): Place | undefined {
  if (Object.is(expected, found)) return undefined
  if (Array.isArray(expected) && Array.isArray(found)) {
    for (let at = 0; at < Math.max(expected.length, found.length); at++) {
      const place = firstDifference(expected[at], found[at], `${path}[${at}]`)
      if (place !== undefined) return place
    }
    return undefined
  }
  if (!isRecord(expected) || !isRecord(found)) return { path, expected, found }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const place = firstDifference(expected[key], found[key], path === '' ? key : `${path}.${key}`)
    if (place !== undefined) return place
  }
  return undefined
}

function wordsFor(
  position: number,
  expected: Message | undefined,
  found: Message | undefined,
  place: Place | undefined,
): string {
  if (expected === undefined)
    return `Message ${position + 1}: nothing more was recorded, and there is one of the role ${found?.role ?? 'unknown'}: ${shown(found?.content)}.`
  if (found === undefined)
    return `Message ${position + 1}: one of the role ${expected.role} was recorded, and none came: ${shown(expected.content)}.`
  if (place === undefined) return `Message ${position + 1} differs.`
  const [left, right] = around(place.expected, place.found)
  return `Message ${position + 1} (${expected.role}) differs at ${place.path}: expected ${left}, found ${right}.`
}

/** Cuts long texts to start shortly before the position where they differ. */
function around(expected: unknown, found: unknown): [string, string] {
  if (typeof expected !== 'string' || typeof found !== 'string') return [shown(expected), shown(found)]
  let at = 0
  while (at < expected.length && expected[at] === found[at]) at++
  const start = Math.max(0, at - contextCharacters)
  const dots = start > 0 ? '…' : ''
  return [shown(dots + expected.slice(start)), shown(dots + found.slice(start))]
}

const contextCharacters = 40
const maxCharacters = 160

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`
}
