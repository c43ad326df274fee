import { marked, type Token } from 'marked'

const maxChars = 100_000
/** About a tenth of a second. */
const maxWork = 30_000_000

/** Quotes and lists that begin 40 times in one line. */
const nested = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){40}/m

/**
 * Parses the markdown of a model. Undefined for a text whose parsing would hold up the page, or end it: very long ones,
 * lists and quotes nested a thousand times, and marks of emphasis without end, which the parser pairs with each other.
 */
export function markdownTokens(text: string): readonly Token[] | undefined {
  if (text.length > maxChars || nested.test(text) || workOf(text) > maxWork) return undefined
  try {
    return marked.lexer(text)
  } catch (error) {
    // The parser calls itself for each level, of which lines can have a few each.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Marks of emphasis times characters, in each part that is parsed by itself: a paragraph or an item of a list. */
function workOf(text: string): number {
  return text
    .split(/\n(?=[ \t]*(?:[-*+>#|\n]|\d+[.)]|$))/)
    .reduce((sum, part) => sum + part.length * (part.length - part.replace(/[_*]/g, '').length), 0)
}
