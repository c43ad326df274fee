import { safeText } from '../../terminal/safe-text.js'
import { wrapText } from '../../terminal/wrap.js'

/**
 * Formats a text for a question. Long runs of spaces and of empty lines are counted instead of shown, so that they
 * cannot push the rest off the screen.
 */
export function foldedText(text: string, columns: number): string[] {
  return foldEmpty(safeText(text).replaceAll('\t', '    ').split('\n')).flatMap((line) =>
    wrapText(
      line.replace(/ {9,}/g, (blanks) => ` ⟨${blanks.length} spaces⟩ `),
      columns,
    ),
  )
}

/**
 * Returns at most `max` lines. Of a longer text, these are the start and the end, with `marker` for the hidden lines
 * between them.
 */
export function excerpt(
  lines: readonly string[],
  max: number,
  marker: (hidden: number) => string,
): readonly string[] {
  if (lines.length <= max) return lines
  const tail = Math.floor((max - 1) / 3)
  const head = Math.max(1, max - 1 - tail)
  return [
    ...lines.slice(0, head),
    marker(lines.length - head - tail),
    ...(tail > 0 ? lines.slice(-tail) : []),
  ]
}

/** The size of a text, as `3 lines, 1204 bytes`; undefined for a short text. */
export function sizeOf(text: string): string | undefined {
  const lines = text.split('\n').length
  const bytes = Buffer.byteLength(text)
  return lines < 3 && bytes < 300 ? undefined : `${lines} ${lines === 1 ? 'line' : 'lines'}, ${bytes} bytes`
}

/** Lists non-ASCII characters with their code points, because they can look like others; undefined for ASCII text. */
export function strangeLetters(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const strange = [...new Set(Array.from(text).filter((letter) => /[^\x00-\x7f]/u.test(letter)))]
  if (strange.length === 0) return undefined
  const named = strange
    .slice(0, 8)
    .map(
      (letter) =>
        `${safeText(letter)} (U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')})`,
    )
  return `non-ASCII characters: ${named.join(', ')}${strange.length > 8 ? ` and ${strange.length - 8} more` : ''}`
}

function foldEmpty(lines: readonly string[]): string[] {
  const folded: string[] = []
  let empty = 0
  const flush = (): void => {
    if (empty > 2) folded.push(`⟨${empty} empty lines⟩`)
    else for (let at = 0; at < empty; at++) folded.push('')
    empty = 0
  }
  for (const line of lines)
    if (line.trim() === '') empty++
    else {
      flush()
      folded.push(line)
    }
  flush()
  return folded
}
