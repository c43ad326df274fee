import { marked, type Token } from 'marked'

const maxChars = 100_000
/** Takes about a tenth of a second to parse. */
const maxWork = 30_000_000

/** Quotes and lists that begin 40 times in one line. */
const nested = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){40}/m

/**
 * Parses the markdown of a model. Returns undefined for a text whose parsing would block or crash the page: a very long
 * text, lists and quotes nested a thousand times, or many unclosed emphasis marks, which the parser pairs with each
 * other.
 */
export function markdownTokens(text: string): readonly Token[] | undefined {
  if (text.length > maxChars || nested.test(text) || workOf(text) > maxWork) return undefined
  try {
    return marked.lexer(text)
  } catch (error) {
    // The parser recurses for each level, and one line can open several levels.
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
