import { isRecord } from '../../tool/json.js'
import { partialIn } from './partial-value.js'

/** A piece of what a model says: of its text, or of the arguments of the call with this id; or that its answer starts again. */
export type ReceivedPiece = { readonly text: string; readonly callId?: string } | { readonly restart: true }

export type PartialObjects = {
  hear(piece: ReceivedPiece): void
  /** Tells what was held back; with the value that it came to, that value. */
  end(whole?: { readonly value: unknown }): void
}

const everyMs = 100
/** From this length on a text is read again only when it has grown by an eighth: all readings together stay in proportion to it. */
const longText = 16_384
const maxTextLength = 2_000_000

/**
 * Follows an object while a model writes it. A partial has what is known for sure: whole numbers and constants, and strings as far as
 * they go. Each has everything that the one before it had. They come at most every 100 ms, and the last one always.
 */
export function createPartialObjects(options: {
  /** Whether the object is the member `value` of what is written. */
  readonly wrapped: boolean
  now(): number
  tell(value: unknown): void
}): PartialObjects {
  let text = ''
  let channel: string | undefined
  let readLength = 0
  let toldAt: number | undefined
  let told: { readonly value: unknown } | undefined
  let over = false

  const isDue = (): boolean => {
    if (text.length > maxTextLength) return false
    if (toldAt !== undefined && options.now() - toldAt < everyMs) return false
    return text.length < longText || text.length - readLength >= text.length / 8
  }
  const tell = (value: unknown): void => {
    toldAt = options.now()
    told = { value }
    options.tell(value)
  }
  const read = (): void => {
    readLength = text.length
    const found = partialIn(text, options.wrapped)
    if (found === undefined || (told !== undefined && same(told.value, found.value))) return
    // A key that is written twice would take something back.
    if (told === undefined || grows(told.value, found.value)) tell(found.value)
  }
  const safely = (work: () => void): void => {
    if (over) return
    try {
      work()
    } catch {
      // Nested too deep to follow, or nobody listens any more: the object itself does not depend on it.
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
        // A call that begins after some words is the answer; a second call is not.
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
        } else if (told === undefined || !same(told.value, whole.value)) tell(whole.value)
        over = true
      }),
  }
}

/** Whether a later partial has everything that an earlier one had. */
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
