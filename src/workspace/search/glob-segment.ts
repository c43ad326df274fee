type Token =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'many' }
  | {
      readonly kind: 'class'
      readonly negated: boolean
      readonly ranges: readonly (readonly [number, number])[]
    }

/** The part of a glob between two slashes. */
export type Segment = {
  readonly tokens: readonly Token[]
  /** The same, spelled with nothing but letters, digits, `. _ - * ?`; undefined when it needs more than that. */
  readonly plain: string | undefined
}

export function parseSegment(source: string): Segment {
  const tokens: Token[] = []
  const text = (char: string) => {
    const last = tokens.at(-1)
    if (last?.kind === 'text') tokens[tokens.length - 1] = { kind: 'text', text: last.text + char }
    else tokens.push({ kind: 'text', text: char })
  }
  for (let index = 0; index < source.length; index += 1) {
    const char = source[index] ?? ''
    const end = char === '[' ? endOfClass(source, index) : undefined
    if (char === '*') {
      if (tokens.at(-1)?.kind !== 'many') tokens.push({ kind: 'many' })
    } else if (char === '?') {
      tokens.push({ kind: 'one' })
    } else if (end !== undefined) {
      tokens.push(parseClass(source.slice(index + 1, end)))
      index = end
    } else if (char === '\\' && index + 1 < source.length) {
      index += 1
      text(source[index] ?? '')
    } else {
      text(char)
    }
  }
  return { tokens, plain: /^[\w.*?-]+$/.test(source) ? source : undefined }
}

/** Greedy with one point of return, like the path it is a part of. */
export function matchSegment({ tokens }: Segment, name: string): boolean {
  let at = 0
  let index = 0
  let starAt = -1
  let starIndex = 0
  for (;;) {
    const token = tokens[at]
    if (token === undefined && index === name.length) return true
    if (token?.kind === 'many') {
      if (at === tokens.length - 1) return true
      starAt = at
      starIndex = index
      at += 1
      continue
    }
    const taken = token === undefined ? -1 : take(token, name, index)
    if (taken >= 0) {
      at += 1
      index += taken
    } else if (starAt >= 0 && starIndex < name.length) {
      starIndex += widthAt(name, starIndex)
      index = starIndex
      at = starAt + 1
    } else {
      return false
    }
  }
}

/** How many units of the name the token takes there, or -1. */
function take(token: Token, name: string, index: number): number {
  if (token.kind === 'text') return name.startsWith(token.text, index) ? token.text.length : -1
  const point = name.codePointAt(index)
  if (point === undefined) return -1
  if (token.kind === 'class') {
    const inside = token.ranges.some(([low, high]) => low <= point && point <= high)
    if (inside === token.negated) return -1
  }
  return widthAt(name, index)
}

function widthAt(name: string, index: number): number {
  return (name.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
}

function parseClass(body: string): Token {
  const negated = body.startsWith('!') || body.startsWith('^')
  const points = [...(negated ? body.slice(1) : body)].map((char) => char.codePointAt(0) ?? 0)
  const ranges: [number, number][] = []
  for (let index = 0; index < points.length; index += 1) {
    const low = points[index] ?? 0
    const high = points[index + 2]
    if (points[index + 1] === 0x2d && high !== undefined) {
      ranges.push([low, high])
      index += 2
    } else {
      ranges.push([low, low])
    }
  }
  return { kind: 'class', negated, ranges }
}

/** Where the class that opens at `start` closes; undefined when it does not, and the bracket is a bracket. */
export function endOfClass(pattern: string, start: number): number | undefined {
  let index = start + 1
  if (pattern[index] === '!' || pattern[index] === '^') index += 1
  // A bracket right after the opening one stands for itself.
  index = pattern.indexOf(']', index + 1)
  return index < 0 || pattern.slice(start, index).includes('/') ? undefined : index
}
