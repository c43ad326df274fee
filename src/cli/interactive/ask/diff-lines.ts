import type { Colors } from '../../terminal/colors.js'
import { safeText } from '../../terminal/safe-text.js'
import { cutTo } from '../../terminal/width.js'

/** A unified diff for a terminal: cut to its width, and in the middle where it is very long. */
export function diffLines(diff: string, colors: Colors, columns: number, most = 60): string[] {
  const lines = safeText(diff).replaceAll('\t', '    ').split('\n')
  const head = Math.ceil(most * 0.7)
  const tail = most - head
  const shown =
    lines.length <= most
      ? lines.map((line) => painted(cutTo(line, columns), colors))
      : [
          ...lines.slice(0, head).map((line) => painted(cutTo(line, columns), colors)),
          colors.yellow(`… ${lines.length - most} more lines …`),
          ...lines.slice(-tail).map((line) => painted(cutTo(line, columns), colors)),
        ]
  return shown
}

function painted(line: string, { green, red, cyan, bold }: Colors): string {
  if (line.startsWith('+')) return green(line)
  if (line.startsWith('-')) return red(line)
  if (line.startsWith('@@')) return cyan(line)
  return line.startsWith(' ') || line.startsWith('\\') || line === '' ? line : bold(line)
}
