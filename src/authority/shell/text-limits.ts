const MAX_BYTES = 8 * 1024
export const MAX_UNITS = 200
const MAX_NESTING = 32

/** Returns why a text cannot be a command at all. */
export function invalidText(text: string): string | undefined {
  if (text.includes('\0')) return 'the command contains a NUL byte'
  if (/\p{Cs}/u.test(text)) return 'the command is not well-formed text (half of a surrogate pair)'
  return undefined
}

/** Returns why a text is not parsed: the parser takes quadratic time, so the text must be limited. */
export function tooLarge(text: string): string | undefined {
  if (byteLength(text) > MAX_BYTES) return `the command is longer than ${MAX_BYTES} bytes`
  if (nesting(text) > MAX_NESTING) return `the command nests more than ${MAX_NESTING} levels deep`
  return undefined
}

/**
 * Finds characters that people do not see, or that bash and a parser may read differently. A command that contains
 * one is shown escaped and needs approval.
 */
export function unusualCharacters(text: string): string | undefined {
  const found = UNUSUAL.exec(text)
  if (!found) return undefined
  const code = found[0].codePointAt(0) ?? 0
  return `the command contains the invisible or unusual character U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

// C0 and C1 controls except tab and newline, every Unicode space except U+0020, line separators, format characters
// (including zero-width and bidirectional controls), and everything else that is invisible.
const UNUSUAL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?! )\p{Zs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}|\p{Cf}/u

/** Returns an upper bound: brackets of each kind are counted everywhere, also in quotes. */
function nesting(text: string): number {
  const open = [0, 0, 0]
  let deepest = 0
  for (const char of text) {
    const kind = '({['.indexOf(char)
    const closed = ')}]'.indexOf(char)
    if (kind >= 0) {
      open[kind] = (open[kind] ?? 0) + 1
      deepest = Math.max(
        deepest,
        open.reduce((sum, count) => sum + count, 0),
      )
    } else if (closed >= 0) open[closed] = Math.max(0, (open[closed] ?? 0) - 1)
  }
  return deepest
}

function byteLength(text: string): number {
  // Most commands are ASCII and short: only those near the limit are encoded.
  return text.length * 3 <= MAX_BYTES || text.length > MAX_BYTES
    ? text.length
    : new TextEncoder().encode(text).length
}
