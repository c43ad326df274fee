/** The kind of line endings in a text. */
export type EndingStyle = 'none' | 'lf' | 'crlf' | 'mixed'

export function endingStyle(counts: { readonly lf: number; readonly crlf: number }): EndingStyle {
  if (counts.crlf === 0) return counts.lf === 0 ? 'none' : 'lf'
  return counts.lf === 0 ? 'crlf' : 'mixed'
}

/** Returns the text with every CRLF as LF, which is how models write. A lone CR is an ordinary character. */
export function withLf(text: string): string {
  return text.includes('\r\n') ? text.replaceAll('\r\n', '\n') : text
}

/** A text with its original line endings, the same text with LF, and the mapping of positions between them. */
export type EndingMap = {
  readonly original: string
  readonly lf: string
  /** Converts a position in the text with LF to one in the original. The result is never between CR and LF. */
  toOriginal(at: number): number
  /** Returns the original line ending at a line feed of the text with LF. */
  endingAt(lineFeed: number): '\n' | '\r\n'
}

export function mapEndings(original: string): EndingMap {
  const lf = withLf(original)
  const collapsed: number[] = []
  for (let at = original.indexOf('\r\n'); at >= 0; at = original.indexOf('\r\n', at + 2)) {
    collapsed.push(at - collapsed.length)
  }
  const before = (at: number): number => firstNotBelow(collapsed, at)
  return {
    original,
    lf,
    toOriginal: (at) => at + before(at),
    endingAt: (lineFeed) => (collapsed[before(lineFeed)] === lineFeed ? '\r\n' : '\n'),
  }
}

/**
 * Returns the line ending for a position: that of its own line, otherwise of the last line that has one, otherwise
 * LF.
 */
export function endingNear(map: EndingMap, at: number): '\n' | '\r\n' {
  const next = map.lf.indexOf('\n', at)
  if (next >= 0) return map.endingAt(next)
  const last = map.lf.lastIndexOf('\n')
  return last >= 0 ? map.endingAt(last) : '\n'
}

/** Counts the lines of a text; text after the last line feed counts as a line. */
export function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return text === '' || text.endsWith('\n') ? lines : lines + 1
}

function firstNotBelow(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
