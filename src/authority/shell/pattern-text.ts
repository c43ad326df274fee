import { PatternError } from '../pattern-error.js'
import type { StarWord } from './star-word.js'

/**
 * Splits the text of a pattern into words like a shell: blanks separate, quotes and backslashes make a star or a
 * blank literal. Throws a PatternError for text that can never be one simple command.
 */
export function readPatternText(text: string): StarWord[] {
  if (text.trim() === '') throw new PatternError(text, 0, 'Nothing to match')
  const reader = { text, at: 0 }
  const words: StarWord[] = []
  while (reader.at < text.length) {
    if (/\s/.test(text.charAt(reader.at)) && !/[\n\r]/.test(text.charAt(reader.at))) reader.at++
    else words.push(readWord(reader))
  }
  return words
}

type Reader = { readonly text: string; at: number }

function readWord(reader: Reader): StarWord {
  const { text } = reader
  const pieces: string[] = []
  let piece = ''
  for (; reader.at < text.length; reader.at++) {
    const char = text.charAt(reader.at)
    if (char === ' ' || char === '\t') break
    if (char === '*') {
      pieces.push(piece)
      piece = ''
    } else if (char === "'" || char === '"') piece += readQuoted(reader, char)
    else if (char === '\\') piece += readEscaped(reader)
    else piece += plain(reader, char)
  }
  pieces.push(piece)
  // `**` means the same as `*`.
  return pieces.filter((each, index) => each !== '' || index === 0 || index === pieces.length - 1)
}

function readQuoted(reader: Reader, quote: string): string {
  const start = reader.at
  let value = ''
  for (reader.at++; reader.at < reader.text.length; reader.at++) {
    const char = reader.text.charAt(reader.at)
    if (char === quote) return value
    value += char === '\\' && quote === '"' ? readEscaped(reader) : char
  }
  throw new PatternError(reader.text, start, `The quote ${quote} is not closed`)
}

function readEscaped(reader: Reader): string {
  if (reader.at + 1 >= reader.text.length)
    throw new PatternError(reader.text, reader.at, 'A backslash with nothing after it')
  reader.at++
  return reader.text.charAt(reader.at)
}

function plain(reader: Reader, char: string): string {
  if (/[;|&<>`\n\r\0]/.test(char)) {
    const shown = JSON.stringify(char)
    throw new PatternError(
      reader.text,
      reader.at,
      `A pattern matches one simple command: ${shown} (quote it if it is meant literally)`,
    )
  }
  if (char === '$' && /[({]/.test(reader.text.charAt(reader.at + 1))) {
    throw new PatternError(
      reader.text,
      reader.at,
      'Nothing is expanded in a pattern (quote the "$" if it is meant literally)',
    )
  }
  return char
}
