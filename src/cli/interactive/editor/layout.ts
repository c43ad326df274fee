import { safeText } from '../../terminal/safe-text.js'
import { lettersOf, widthOf, widthOfLetter } from '../../terminal/width.js'
import type { LiveInput } from '../screen/screen.js'
import type { TextBuffer } from './text-buffer.js'

/**
 * The rows of a text after a prompt, and the position of its cursor. If there is not enough room, the rows around the
 * cursor are shown.
 */
export function layout(
  { text, cursor }: TextBuffer,
  { prompt, columns, rows }: { readonly prompt: string; readonly columns: number; readonly rows: number },
): LiveInput {
  const margin = Math.min(widthOf(prompt), Math.max(0, columns - 4))
  // The last column stays empty, because a character there would make the terminal break the line.
  const room = Math.max(2, columns - 1)
  const lines: string[] = []
  let line = prompt
  let width = margin
  let at = { row: 0, column: margin }
  const breakLine = (): void => {
    lines.push(line)
    line = ' '.repeat(margin)
    width = margin
  }
  let offset = 0
  for (const letter of lettersOf(text)) {
    const shown = letter === '\t' ? '  ' : safeText(letter)
    const wide = shown === letter ? widthOfLetter(letter) : widthOf(shown)
    if (letter !== '\n' && width + wide > room) breakLine()
    if (offset === cursor) at = { row: lines.length, column: width }
    if (letter === '\n') breakLine()
    else {
      line += shown
      width += wide
    }
    offset += letter.length
  }
  if (offset === cursor) {
    if (width >= room) breakLine()
    at = { row: lines.length, column: width }
  }
  lines.push(line)
  const first = Math.max(0, Math.min(at.row - Math.floor(rows / 2), lines.length - rows))
  return {
    lines: lines.slice(first, first + Math.max(1, rows)),
    cursor: { row: at.row - first, column: at.column },
  }
}
