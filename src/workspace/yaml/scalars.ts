/** Returns the value of a scalar without quotes: null, a boolean, a number, otherwise its text. */
export function plainValue(text: string): unknown {
  if (/^(?:|~|null|Null|NULL)$/.test(text)) return null
  if (/^(?:true|True|TRUE)$/.test(text)) return true
  if (/^(?:false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?\d+$/.test(text) || /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:e[-+]?\d+)?$/i.test(text))
    return Number(text)
  return /^0(?:x[\da-fA-F]+|o[0-7]+)$/.test(text) ? Number(text) : text
}

/** Joins the lines of one scalar: a line break becomes a space, and each empty line a line break. */
export function foldLines(lines: readonly string[]): string {
  let folded = lines[0] ?? ''
  let empty = 0
  for (const [at, line] of lines.entries()) {
    if (at === 0) continue
    if (line === '' && at < lines.length - 1) empty += 1
    else {
      folded += (empty === 0 ? ' ' : '\n'.repeat(empty)) + line
      empty = 0
    }
  }
  return folded
}

/** Returns the text between single quotes. */
export function singleQuoted(raw: string): string {
  return foldLines(trimmedLines(raw)).replaceAll("''", "'")
}

/** Returns the text between double quotes; undefined when it contains an invalid escape. */
export function doubleQuoted(raw: string): string | undefined {
  const lines: string[] = []
  let open = false
  for (const line of trimmedLines(raw)) {
    const escaped = /(?<!\\)(?:\\\\)*\\$/.test(line)
    const text = escaped ? line.slice(0, -1) : line
    if (open) lines.push(`${lines.pop() ?? ''}${text}`)
    else lines.push(text)
    open = escaped
  }
  let wrong = false
  const text = foldLines(lines).replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]?))/g,
    (whole, byte?: string, short?: string, long?: string, char?: string) => {
      const code = byte ?? short ?? long
      const meant = code === undefined ? escapes[char ?? ''] : codePoint(Number.parseInt(code, 16))
      wrong ||= meant === undefined
      return meant ?? whole
    },
  )
  return wrong ? undefined : text
}

/** Joins the lines of a block scalar that begins with `>`: lines that are indented further keep their breaks. */
export function foldBlock(lines: readonly string[]): string {
  let folded = ''
  let empty = 0
  let before: 'none' | 'text' | 'indented' = 'none'
  for (const line of lines) {
    if (line === '') {
      empty += 1
      continue
    }
    const kind = /^[ \t]/.test(line) ? 'indented' : 'text'
    const breaks = before === 'none' ? empty : kind === 'text' && before === 'text' ? empty : empty + 1
    folded += (breaks === 0 && before !== 'none' ? ' ' : '\n'.repeat(breaks)) + line
    before = kind
    empty = 0
  }
  return folded
}

/** Removes the spaces and tabs around a text: the only characters that are white space in YAML. */
export function trimBlanks(text: string): string {
  let start = 0
  while (isBlank(text[start])) start += 1
  return trimBlanksEnd(text.slice(start))
}

export function trimBlanksEnd(text: string): string {
  let end = text.length
  while (isBlank(text[end - 1])) end -= 1
  return text.slice(0, end)
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

function trimmedLines(raw: string): string[] {
  const lines = raw.split('\n')
  return lines.map((line, at) => {
    const start = at === 0 ? line : line.replace(/^[ \t]+/, '')
    return at === lines.length - 1 ? start : trimBlanksEnd(start)
  })
}

function codePoint(code: number): string | undefined {
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

const escapes: Readonly<Record<string, string>> = {
  0: '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
}
