/**
 * Text from a model, a tool, a file name or a server, made safe for a terminal (SEC-195): everything that would move the cursor, set
 * the title, reach the clipboard, ask the terminal something, or hide and reorder text is written out (`\x1b`, `\u202e`). Newlines and
 * tabs stay. Works piece by piece, too.
 */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(dangerous, escaped)
}

/** The same for the output of programs, whose colours are left out: what they colour is still there to be read. */
export function plainOutput(text: string): string {
  return safeText(text.replace(styles, ''))
}

/** The same on one line, cut to a length: for lists and titles. */
export function safeLine(text: string, most = 200): string {
  const line = safeText(text.slice(0, most * 8))
    .replace(/\s+/g, ' ')
    .trim()
  const letters = Array.from(line)
  return letters.length <= most ? line : `${letters.slice(0, most - 1).join('')}…`
}

/** JSON for a pipe or a terminal. */
export function safeJson(value: unknown, indent?: number): string {
  return safeJsonText(JSON.stringify(value, undefined, indent) ?? 'null')
}

/** What JSON leaves as it is but terminals obey is written as `\u009b`: the same JSON, harmless to look at. */
export function safeJsonText(json: string): string {
  return json.replace(beyondJson, (char) => unicode(char.codePointAt(0) ?? 0))
}

// Controls but tab and newline, direction marks and overrides, line separators, zero-width and tag characters, lone surrogates. The
// joiner inside emoji and the letters that need one are spelling.
const dangerous =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is written out
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Cs}]/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: the introducer of a style
const styles = /\x1b\[[\d;:]*m/g
const beyondJson = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

function escaped(char: string): string {
  if (char === '\r') return '\\r'
  const code = char.codePointAt(0) ?? 0
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicode(code)
}

function unicode(code: number): string {
  const hex = code.toString(16)
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
