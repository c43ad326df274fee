import type { Tokens } from 'marked'
import type { Colors } from '../../terminal/colors.js'
import { widthOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { inline } from './inline.js'

/** Formats a table in columns, or, if it is too wide, row by row with the names of the columns. */
export function tableLines(table: Tokens.Table, colors: Colors, columns: number): string[] {
  const cellText = (cell: Tokens.TableCell): string => inline(cell.tokens, colors).replaceAll('\n', ' ')
  const header = table.header.map(cellText)
  const rows = table.rows.map((row) => row.map(cellText))
  const widths = header.map((name, at) =>
    Math.max(1, ...[name, ...rows.map((row) => row[at] ?? '')].map(widthOf)),
  )
  const total = widths.reduce((sum, width) => sum + width + 3, -3)
  if (total > columns) return asRecords(header, rows, colors, columns)
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, at) => aligned(cells[at] ?? '', width, table.align[at] ?? null))
      .join(colors.dim(' │ '))
      .trimEnd()
  return [
    line(header.map(colors.bold)),
    colors.dim(widths.map((width) => '─'.repeat(width)).join('─┼─')),
    ...rows.map(line),
  ]
}

function aligned(text: string, width: number, align: 'center' | 'left' | 'right' | null): string {
  const free = Math.max(0, width - widthOf(text))
  const before = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0
  return ' '.repeat(before) + text + ' '.repeat(free - before)
}

function asRecords(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { bold, dim }: Colors,
  columns: number,
): string[] {
  return rows.flatMap((row, at) => [
    ...(at > 0 ? [dim('─'.repeat(Math.min(8, columns)))] : []),
    ...row.flatMap((cell, index) => wrapText(`${bold(`${header[index] ?? ''}:`)} ${cell}`, columns, '  ')),
  ])
}
