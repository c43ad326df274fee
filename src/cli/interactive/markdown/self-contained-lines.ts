/** Closes each style at the end of a line and opens it again on the next one, so that each line can be shown alone. */
export function ownLines(lines: readonly string[]): string[] {
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
