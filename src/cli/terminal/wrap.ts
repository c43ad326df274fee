import { lettersOf, widthOf, widthOfLetter } from './width.js'

/**
 * Breaks text into lines of at most `columns` columns: at spaces, and inside a word only if it is longer than a line.
 * Wide characters count two columns, style codes none. Lines after the first start with `indent`.
 */
export function wrapText(text: string, columns: number, indent = ''): string[] {
  const room = Math.max(8, columns)
  return text.split('\n').flatMap((line) => wrapLine(line, room, indent))
}

/**
 * Wraps a line of a two-column list (` name description`). After a long name the description starts on the next line.
 */
export function wrapRow(line: string, columns: number): string[] {
  const [, left = '', right] = /^((?: {2}|\* ) *\S.*? {2,})(\S.*)$/.exec(line) ?? []
  if (right === undefined || widthOf(line) <= columns) return wrapText(line, columns, '    ')
  const margin = widthOf(left)
  if (margin <= columns / 2) return wrapText(left + right, columns, ' '.repeat(margin))
  return [...wrapText(left.trimEnd(), columns, '    '), ...wrapText(`      ${right}`, columns, '      ')]
}

/** Breaks one line after every `columns` columns. No character is dropped, not even a space. */
export function breakLine(line: string, columns: number): string[] {
  const room = Math.max(8, columns)
  if (line.length <= room && widthOf(line) <= room) return [line]
  const lines: string[] = []
  if (/^[\x20-\x7e]*$/.test(line)) {
    for (let at = 0; at < line.length; at += room) lines.push(line.slice(at, at + room))
    return lines
  }
  let current = ''
  let width = 0
  for (const letter of lettersOf(line)) {
    const letterWidth = widthOfLetter(letter)
    if (width + letterWidth > room) {
      lines.push(current)
      current = ''
      width = 0
    }
    current += letter
    width += letterWidth
  }
  return [...lines, current]
}

function wrapLine(line: string, columns: number, indent: string): string[] {
  if (widthOf(line) <= columns) return [line]
  const lines: string[] = []
  const margin = widthOf(indent)
  let current = ''
  let width = 0
  const flush = (): void => {
    lines.push(current.trimEnd())
    current = indent
    width = margin
  }
  for (const word of line.match(/ +|[^ ]+/g) ?? []) {
    const wordWidth = widthOf(word)
    const isBlank = word.startsWith(' ')
    const isFresh = width === margin && lines.length > 0
    if (width + wordWidth <= columns) {
      // The space at a line break is dropped.
      if (isBlank && isFresh) continue
      current += word
      width += wordWidth
    } else if (isBlank) flush()
    else {
      if (width > margin || (lines.length === 0 && width > 0)) flush()
      for (const piece of pieces(word)) {
        const pieceWidth = piece.startsWith('\u001b') ? 0 : widthOfLetter(piece)
        if (width + pieceWidth > columns) flush()
        current += piece
        width += pieceWidth
      }
    }
  }
  if (current.trim() !== '' || lines.length === 0) lines.push(current)
  return lines
}

/** Splits a word into graphemes and style codes. */
function pieces(word: string): string[] {
  return word.split(style).flatMap((part) => (part.startsWith('\u001b') ? [part] : lettersOf(part)))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
const style = /(\x1b\[[\d;]*m)/
