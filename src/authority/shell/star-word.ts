import type { Word } from './analysis.js'

/** A word of a pattern: the literal pieces between its stars, in order. One piece means no star. */
export type StarWord = readonly string[]

/**
 * Returns whether a text matches: the first piece at the start, the last at the end, the others in between, in order.
 * Linear except for the length of a piece.
 */
export function fitsStarWord(word: StarWord, text: string): boolean {
  const first = word[0] ?? ''
  if (word.length === 1) return text === first
  const last = word.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false
  const end = text.length - last.length
  let at = first.length
  for (const piece of word.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= end
}

/** Returns whether a word that is only known at run time may match: its certain beginning must not contradict. */
export function mayFitStarWord(word: StarWord, { value, prefix = '' }: Word): boolean {
  if (value !== undefined) return fitsStarWord(word, value)
  const first = word[0] ?? ''
  return word.length === 1 ? first.startsWith(prefix) : first.startsWith(prefix) || prefix.startsWith(first)
}

export function hasStar(word: StarWord): boolean {
  return word.length > 1
}

export function isLoneStar(word: StarWord): boolean {
  return word.length > 1 && word.every((piece) => piece === '')
}
