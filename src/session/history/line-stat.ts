/** The number of lines added and removed between two texts. */
export type LineStat = { readonly added: number; readonly removed: number }

/**
 * Counts lines like a diff. For very different texts, whose diff is not readable, the counts are lower bounds: the
 * order of common lines is ignored.
 */
export function lineStat(before: string, after: string): LineStat {
  const [a, b] = [linesOf(before), linesOf(after)]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const [left, right] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)]
  const common =
    left.length * right.length <= maxCells ? commonLineCount(left, right) : sharedLines(left, right)
  return { added: right.length - common, removed: left.length - common }
}

const maxCells = 4_000_000

function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function commonLineCount(a: readonly string[], b: readonly string[]): number {
  let above = new Uint32Array(b.length + 1)
  let row = new Uint32Array(b.length + 1)
  for (const line of a) {
    for (let at = 0; at < b.length; at++)
      row[at + 1] = b[at] === line ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0)
    ;[above, row] = [row, above]
  }
  return above[b.length] ?? 0
}

function sharedLines(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const line of a) counts.set(line, (counts.get(line) ?? 0) + 1)
  let shared = 0
  for (const line of b) {
    const left = counts.get(line) ?? 0
    if (left === 0) continue
    counts.set(line, left - 1)
    shared++
  }
  return shared
}
