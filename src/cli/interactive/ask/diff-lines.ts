import type { Colors } from '../../terminal/colors.js'
import { safeText } from '../../terminal/safe-text.js'
import { breakLine } from '../../terminal/wrap.js'

/** Formats a whole unified diff for a terminal: long lines are broken, control characters are escaped. */
export function diffLines(diff: string, colors: Colors, columns: number): string[] {
  return safeText(diff)
    .replaceAll('\t', '    ')
    .split('\n')
    .flatMap((line) => {
      const paint = paintFor(line, colors)
      return breakLine(line, columns).map(paint)
    })
}

function paintFor(line: string, { green, red, cyan, bold }: Colors): (text: string) => string {
  if (line.startsWith('+')) return green
  if (line.startsWith('-')) return red
  if (line.startsWith('@@')) return cyan
  return line.startsWith(' ') || line.startsWith('\\') || line === '' ? (text) => text : bold
}
