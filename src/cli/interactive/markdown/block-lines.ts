import type { Token, Tokens } from 'marked'
import type { Colors } from '../../terminal/colors.js'
import { safeLine, safeText } from '../../terminal/safe-text.js'
import { widthOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { inline } from './inline.js'
import { tableLines } from './table.js'

export type BlockLines = {
  readonly lines: readonly string[]
  /** How many of the lines cannot change when more text is added. */
  readonly settled: number
}

/** Formats one block of markdown as lines of a terminal. */
export function blockLines(token: Token, colors: Colors, columns: number): BlockLines {
  const room = Math.max(8, columns)
  switch (token.type) {
    case 'code':
      return codeLines(token as Tokens.Code, colors, room)
    case 'list':
      return listLines(token as Tokens.List, colors, room)
    default:
      return { lines: ownLines(otherLines(token, colors, room)), settled: 0 }
  }
}

function otherLines(token: Token, colors: Colors, columns: number): string[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'heading': {
      const text = inline(token.tokens, colors)
      return wrapText(colors.bold(token['depth'] === 1 ? colors.underline(text) : text), columns)
    }
    case 'paragraph':
    case 'text':
      return wrapText(
        token.tokens === undefined ? token.raw.trimEnd() : inline(token.tokens, colors),
        columns,
      )
    case 'blockquote':
      return stacked(token.tokens, colors, columns - 2).map((line) => `${colors.dim('│')} ${line}`)
    case 'hr':
      return [colors.dim('─'.repeat(Math.min(columns, 40)))]
    case 'table':
      return tableLines(token as Tokens.Table, colors, columns)
    // HTML is shown as text.
    default:
      return wrapText(token.raw.trimEnd(), columns)
  }
}

/** Code is not reflowed: lines that are too long are broken at the width. */
function codeLines({ text, lang, raw }: Tokens.Code, colors: Colors, columns: number): BlockLines {
  const isFenced = /^ {0,3}(```|~~~)/.test(raw)
  const name = isFenced && lang ? [colors.dim(`  ${safeLine(lang, 40)}`)] : []
  const pieces = safeText(text)
    .split('\n')
    .map((line) => hardBroken(line.replaceAll('\t', '    '), columns - 2))
  const painted = pieces.map((rows) => rows.map((row) => `  ${colors.cyan(row)}`.trimEnd()))
  const settled = name.length + painted.slice(0, -1).flat().length
  // The start of a fence can change until its first line is complete.
  return { lines: [...name, ...painted.flat()], settled: raw.includes('\n') ? settled : 0 }
}

function hardBroken(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line]
  // In a text without spaces, `wrapText` breaks the line at the width.
  const glued = line.replaceAll(' ', '\u00a0')
  return wrapText(glued, columns).map((row) => row.replaceAll('\u00a0', ' '))
}

function listLines(list: Tokens.List, colors: Colors, columns: number): BlockLines {
  const first = typeof list.start === 'number' ? list.start : 1
  const lastNumber = String(first + list.items.length - 1)
  const items = list.items.map((item, at) => {
    const mark = list.ordered ? `${String(first + at).padStart(lastNumber.length)}. ` : '• '
    const lines = stacked(item.tokens, colors, columns - mark.length, true)
    return ownLines(
      (lines.length > 0 ? lines : ['']).map(
        (line, row) => (row === 0 ? mark : ' '.repeat(mark.length)) + line,
      ),
    )
  })
  // A number with more digits would indent the other items, and a marker without text can become something else.
  const isCertain = !list.ordered && list.items.at(-1)?.text.trim() !== ''
  return { lines: items.flat(), settled: isCertain ? items.slice(0, -1).flat().length : 0 }
}

/** Formats the blocks inside another block, one below the other. */
function stacked(
  tokens: readonly Token[] | undefined,
  colors: Colors,
  columns: number,
  tight = false,
): string[] {
  const lines: string[] = []
  let begun = ''
  for (const token of tokens ?? []) {
    if (token.type === 'checkbox') {
      begun = inline([token], colors)
      continue
    }
    const block = blockLines(token, colors, columns).lines
    if (block.length === 0) continue
    if (!tight && lines.length > 0) lines.push('')
    lines.push(begun + block[0], ...block.slice(1))
    begun = ''
  }
  return lines
}

/** Closes each style at the end of a line and opens it again on the next one, so that each line can be shown alone. */
function ownLines(lines: readonly string[]): string[] {
  let open: string[] = []
  return lines.map((line) => {
    const before = open.join('')
    for (const [style, code = '0'] of line.matchAll(styles)) open = after(open, style, code)
    return before + line + (open.length > 0 ? '\u001b[0m' : '')
  })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
const styles = /\x1b\[(\d+)m/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
const styleCode = /^\x1b\[(\d+)m$/

/** The styles that a closing code closes. */
const closes: Readonly<Record<string, (code: number) => boolean>> = {
  '0': () => true,
  '22': (code) => code === 1 || code === 2,
  '23': (code) => code === 3,
  '24': (code) => code === 4,
  '27': (code) => code === 7,
  '29': (code) => code === 9,
  '39': (code) => (code >= 30 && code <= 37) || code >= 90,
}

function after(open: readonly string[], style: string, code: string): string[] {
  const closed = closes[code]
  if (closed === undefined) return [...open, style]
  return open.filter((each) => !closed(Number(styleCode.exec(each)?.[1])))
}
