import { isRecord } from '../../tool/json.js'
import { partialIn } from './partial-value.js'

/**
 * A piece of a model's text, or of the arguments of the call with this id; or `restart` when the answer starts again.
 */
export type ReceivedPiece = { readonly text: string; readonly callId?: string } | { readonly restart: true }

export type PartialObjects = {
  hear(piece: ReceivedPiece): void
  /** Emits a delayed partial object; with the final value, emits that value. */
  end(whole?: { readonly value: unknown }): void
}

const everyMs = 100
/**
 * From this length on, a text is parsed again only when it has grown by an eighth, so that the total work stays
 * proportional to its length.
 */
const longText = 16_384
const maxTextLength = 2_000_000

/**
 * Tracks an object while a model writes it. A partial object contains only what is certain: complete numbers and
 * constants, and strings as far as they have arrived. Each contains everything of the previous one. They are emitted at
 * most every 100 ms, and the last one always.
 */
export function createPartialObjects(options: {
  /** Whether the object is the member `value` of the written object. */
  readonly wrapped: boolean
  now(): number
  emit(value: unknown): void
}): PartialObjects {
  let text = ''
  let channel: string | undefined
  let readLength = 0
  let emittedAt: number | undefined
  let emitted: { readonly value: unknown } | undefined
  let over = false

  const isDue = (): boolean => {
    if (text.length > maxTextLength) return false
    if (emittedAt !== undefined && options.now() - emittedAt < everyMs) return false
    return text.length < longText || text.length - readLength >= text.length / 8
  }
  const emit = (value: unknown): void => {
    emittedAt = options.now()
    emitted = { value }
    options.emit(value)
  }
  const read = (): void => {
    readLength = text.length
    const found = partialIn(text, options.wrapped)
    if (found === undefined || (emitted !== undefined && same(emitted.value, found.value))) return
    // A repeated key would remove a value that was already emitted.
    if (emitted === undefined || grows(emitted.value, found.value)) emit(found.value)
  }
  const safely = (work: () => void): void => {
    if (over) return
    try {
      work()
    } catch {
      // The text is nested too deeply to track, or the listener failed. The final object does not depend on partial
      // objects.
      over = true
    }
  }
  return {
    hear: (piece) =>
      safely(() => {
        if ('restart' in piece) {
          text = ''
          channel = undefined
          readLength = 0
          return
        }
        // A call that starts after some text is the answer; a second call is not.
        if (piece.callId !== channel) {
          if (channel !== undefined) return
          channel = piece.callId
          text = ''
          readLength = 0
        }
        text += piece.text
        if (isDue()) read()
      }),
    end: (whole) =>
      safely(() => {
        if (whole === undefined) {
          if (text.length <= maxTextLength) read()
        } else if (emitted === undefined || !same(emitted.value, whole.value)) emit(whole.value)
        over = true
      }),
  }
}

/** Returns whether a later partial object contains everything of an earlier one. */
function grows(before: unknown, after: unknown): boolean {
  if (typeof before === 'string') return typeof after === 'string' && after.startsWith(before)
  if (Array.isArray(before))
    return Array.isArray(after) && before.every((item, at) => at in after && grows(item, after[at]))
  if (!isRecord(before)) return Object.is(before, after)
  return (
    isRecord(after) &&
    Object.keys(before).every((key) => Object.hasOwn(after, key) && grows(before[key], after[key]))
  )
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
