/**
 * Returns the text of a page or a server as a person would see it: without control characters, and without invisible
 * ones that could carry text only a model reads (zero-width and tag characters, direction overrides, runs of
 * variation selectors).
 */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(invisible, '')
    .replace(joiners, (joiner, at: number, whole: string) =>
      joins(whole.codePointAt(at - 1)) && joins(whole.codePointAt(at + joiner.length))
        ? joiner.charAt(0)
        : '',
    )
    .replace(/[\ufe00-\ufe0f]{2,}/g, (run) => run.charAt(0))
    .replace(loneSurrogate, '\ufffd')
}

/** Returns visible text on one line, cut to a length. */
export function visibleLine(text: string, most: number): string {
  // Cut before cleaning as well: a title of several megabytes need not be processed.
  const line = visibleText(text.slice(0, most * 8))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(loneSurrogate, '')}…`
}

// Controls except tab and newline, soft hyphen, zero-width space, direction marks and overrides, word joiner and
// invisible operators, byte order mark, interlinear marks, tag characters, and the variation selectors that no script
// needs.
const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu

const loneSurrogate = /\p{Cs}/gu

// Joiners are valid between letters of scripts that need them, and inside emoji; everywhere else they are removed.
const joiners = /[\u200c\u200d]+/g

function joins(code: number | undefined): boolean {
  return code !== undefined && code > 0x7f
}
