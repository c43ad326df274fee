import type { Assignment, Word as SyntaxWord, WordPart } from 'unbash'
import type { Word } from './analysis.js'

/**
 * Reads a word without its quotes. It has a value only when it consists of literals, single quotes, ANSI-C quotes and
 * double quotes without expansions; after tilde, glob, brace and every other expansion it has none.
 */
export function readWord(word: SyntaxWord): Word {
  if (word.parts === undefined) return bareWord(word)
  let value = ''
  for (const [at, part] of word.parts.entries()) {
    const text = at === 0 && startsWithTilde(part) ? undefined : literalText(part)
    if (text === undefined) return dynamic(word.text, value + certainStart(part))
    value += text
  }
  return TILDE_WITHIN.test(withoutQuotedTildes(word.parts))
    ? dynamic(word.text, '')
    : { text: word.text, value }
}

/** A tilde in quotes is never expanded. */
function withoutQuotedTildes(parts: readonly WordPart[]): string {
  return parts.map((part) => (part.type === 'Literal' ? part.text : part.text.replaceAll('~', '_'))).join('')
}

/** Reads an assignment that is an argument: `declare a=1`. */
export function readAssignmentArgument(assignment: Assignment): Word {
  const { text, name, value } = assignment
  if (value.type === 'ArrayValue' || assignment.index) return dynamic(text, '')
  const read = readWord(value)
  if (read.value === undefined) return dynamic(text, '')
  return { text, value: `${name}${assignment.append ? '+=' : '='}${read.value}` }
}

function dynamic(text: string, prefix: string): Word {
  return prefix === '' ? { text } : { text, prefix }
}

// Bash joins lines before it looks for expansions; the parser misses a `$` at the end of a line (found by the
// differential fuzz).
const CONTINUED_EXPANSION = /\$[\s\S]*\\\n|\\\n[\s\S]*\$/

// Bash also expands a tilde after `=` and `:` in words that look like assignments.
const TILDE_WITHIN = /[=:]~/

function bareWord(word: SyntaxWord): Word {
  const { text, value } = word
  // The parser found no expansion; check again for the expansions that would be most dangerous to miss.
  if (
    text.startsWith('~') ||
    TILDE_WITHIN.test(text) ||
    CONTINUED_EXPANSION.test(text) ||
    /(?<!\\)(`|\$[\w({@*#?!$-])/.test(text)
  )
    return { text }
  return { text, value }
}

/**
 * The escapes that bash and the parser certainly read alike: no NUL (which cuts the string), no bytes beyond ASCII,
 * no backslash before a newline (which bash retains and the parser drops; found by the differential fuzz).
 */
const PLAIN_ANSI_C =
  /^\$'(?:[^\\']|\\[abeEfnrtv\\'"?]|\\x(?!00)[0-7][0-9a-fA-F]|\\(?!000)[01][0-7]{2}|\\u(?!0000)00[0-7][0-9a-fA-F])*'$/

function startsWithTilde(part: WordPart): boolean {
  return part.type === 'Literal' && part.text.startsWith('~')
}

/** Returns the beginning of a quoted part before its first expansion. */
function certainStart(part: WordPart): string {
  const [first] = part.type === 'DoubleQuoted' ? part.parts : []
  return first?.type === 'Literal' ? first.value : ''
}

function literalText(part: WordPart): string | undefined {
  switch (part.type) {
    case 'SingleQuoted':
      return part.value
    case 'Literal':
      return CONTINUED_EXPANSION.test(part.text) ? undefined : part.value
    case 'AnsiCQuoted':
      return PLAIN_ANSI_C.test(part.text) ? part.value : undefined
    case 'DoubleQuoted': {
      if (CONTINUED_EXPANSION.test(part.text)) return undefined
      let value = ''
      for (const child of part.parts) {
        if (child.type !== 'Literal') return undefined
        value += child.value
      }
      return value
    }
    default:
      return undefined
  }
}
