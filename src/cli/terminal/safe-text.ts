/**
 * Makes text from a model, a tool, a file name or a server safe for a terminal (SEC-195): characters that move the
 * cursor, set the title, use the clipboard, query the terminal, or hide and reorder text are escaped (`\x1b`,
 * `\u202e`). Newlines and tabs are unchanged. It can also be applied to parts of a text.
 */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(dangerous, escaped)
}

/** {@link safeText} for the output of programs, with their color codes removed. */
export function plainOutput(text: string): string {
  return safeText(text.replace(styles, ''))
}

/** {@link safeText} on one line, cut to `max` characters, for lists and titles. */
export function safeLine(text: string, max = 200): string {
  const line = safeText(text.slice(0, max * 8))
    .replace(/\s+/g, ' ')
    .trim()
  const letters = Array.from(line)
  return letters.length <= max ? line : `${letters.slice(0, max - 1).join('')}…`
}

/** Serializes a value as JSON that is safe to print on a terminal. */
export function safeJson(value: unknown, indent?: number): string {
  return safeJsonText(JSON.stringify(value, undefined, indent) ?? 'null')
}

/** Escapes characters that JSON allows and terminals interpret (`\u009b`). The JSON value stays the same. */
export function safeJsonText(json: string): string {
  return json.replace(beyondJson, (char) => unicode(char.codePointAt(0) ?? 0))
}

// Control characters except tab and newline, direction marks and overrides, line separators, zero-width and tag
// characters, lone surrogates. Joiners are not escaped, because emoji and some scripts need them.
const dangerous =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are escaped
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
