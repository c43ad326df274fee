import type { TextStream } from './provider.js'
import { addSpan, type Span, type WordFinder } from './word-finder.js'

/**
 * Redacts words in a text that arrives in pieces. Only the possible beginning of a word is delayed, which is never
 * longer than the longest word; everything else is passed on immediately.
 */
export function createRedactingStream(finder: WordFinder, mark: string): TextStream {
  const walk = finder.walk()
  /** The text that is not passed on yet, and its position in the whole text. */
  let held = ''
  let heldAt = 0
  /** The spans of words in the text that is not passed on yet; the first may have begun before it. */
  let spans: Span[] = []

  const take = (piece: string): void => {
    const from = heldAt + held.length
    for (let at = 0; at < piece.length; at += 1) {
      const length = walk.step(piece.charCodeAt(at))
      const end = from + at + 1
      if (length > 0) addSpan(spans, { start: end - length, end })
    }
    held += piece
  }

  /**
   * Passes on everything before a position. A word that begins there is replaced by the mark, and its rest is dropped.
   */
  const pass = (until: number): string => {
    let result = ''
    const open: Span[] = []
    const text = (start: number, end: number): string => held.slice(start - heldAt, end - heldAt)
    let at = heldAt
    for (const span of spans) {
      if (span.start >= until) {
        open.push(span)
        continue
      }
      // A word that began earlier already has its mark.
      if (span.start >= heldAt) result += text(at, span.start) + mark
      at = Math.min(span.end, until)
      if (span.end > until) open.push(span)
    }
    result += text(at, until)
    held = held.slice(until - heldAt)
    heldAt = until
    spans = open
    return result
  }

  return {
    push: (piece) => {
      take(piece)
      return pass(heldAt + held.length - walk.pending())
    },
    end: () => pass(heldAt + held.length),
  }
}
