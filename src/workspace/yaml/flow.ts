import { doubleQuoted, foldLines, plainValue, singleQuoted, trimBlanks } from './scalars.js'
import { quoted, type SourceText } from './source-text.js'

export type Read = { readonly value: unknown; readonly end: number }

/** Deeper than any hand-written file. */
export const deepest = 32

/** Parses `"…"` or `'…'` at this offset of the text. */
export function readQuoted(
  source: SourceText,
  offset: number,
): { readonly value: string; readonly end: number } {
  const { text } = source
  const quote = text[offset]
  let at = offset + 1
  for (; ; at += 1) {
    const char = text[at]
    if (char === undefined) throw source.problem(`a quote (${quote}) that is never closed`)
    if (char === '\\' && quote === '"') at += 1
    else if (char === quote) {
      if (quote === '"' || text[at + 1] !== "'") break
      at += 1
    }
  }
  const raw = text.slice(offset + 1, at)
  const value = quote === '"' ? doubleQuoted(raw) : singleQuoted(raw)
  if (value === undefined) throw source.problem('a backslash in double quotes with no meaning; write \\\\')
  return { value, end: at + 1 }
}

/** Parses `[…]` or `{…}` at this offset of the text. */
export function readFlow(source: SourceText, offset: number, depth: number): Read {
  if (depth > deepest) throw source.problem(`nested deeper than ${deepest} levels`)
  return source.text[offset] === '[' ? readList(source, offset, depth) : readMap(source, offset, depth)
}

/** Sets a key of a mapping. Throws for a duplicate or unsafe key. */
export function setKey(source: SourceText, map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__' || key === '<<') throw source.problem(`the key ${quoted(key)} is not allowed`)
  if (Object.hasOwn(map, key)) throw source.problem(`the key ${quoted(key)} occurs twice`)
  map[key] = value
}

/** Throws for a text that begins with an indicator that is not supported. */
export function refuseSigns(source: SourceText, text: string): void {
  const meaning = /^[:?](?:[ \t]|$)/.test(text) ? 'the sign of a key' : signs[text[0] ?? '']
  if (meaning !== undefined)
    throw source.problem(`${quoted(text)} begins with ${meaning}; put it in quotes if it is a text`)
}

const signs: Readonly<Record<string, string>> = {
  '&': 'the sign of an anchor, which is not supported',
  '*': 'the sign of an alias, which is not supported',
  '!': 'the sign of a tag, which is not supported',
  '%': 'the sign of a directive, which is not supported',
  '@': '"@", which means nothing',
  '`': 'a backquote, which means nothing',
}

function readList(source: SourceText, offset: number, depth: number): Read {
  const list: unknown[] = []
  let at = skipBlanks(source, offset + 1)
  while (source.text[at] !== ']') {
    const item = readItem(source, at, depth)
    list.push(item.value)
    at = afterComma(source, item.end, ']')
  }
  return { value: list, end: at + 1 }
}

function readMap(source: SourceText, offset: number, depth: number): Read {
  const map: Record<string, unknown> = {}
  let at = skipBlanks(source, offset + 1)
  while (source.text[at] !== '}') {
    const key = readItem(source, at, depth)
    at = skipBlanks(source, key.end)
    let value: unknown = null
    if (source.text[at] === ':') {
      at = skipBlanks(source, at + 1)
      if (!/[,}]/.test(source.text[at] ?? '')) {
        const item = readItem(source, at, depth)
        value = item.value
        at = item.end
      }
    }
    if (typeof key.value === 'object' && key.value !== null) throw source.problem('a key that is not text')
    setKey(source, map, String(key.value), value)
    at = afterComma(source, at, '}')
  }
  return { value: map, end: at + 1 }
}

function readItem(source: SourceText, offset: number, depth: number): Read {
  const char = source.text[offset]
  if (char === undefined) throw source.problem('a bracket that is never closed')
  source.goTo(offset)
  if (char === '"' || char === "'") return readQuoted(source, offset)
  if (char === '[' || char === '{') return readFlow(source, offset, depth + 1)
  plainItem.lastIndex = offset
  const [raw = ''] = plainItem.exec(source.text) ?? []
  const lines = raw.split('\n').map(trimBlanks)
  while (lines.length > 1 && lines.at(-1) === '') lines.pop()
  const text = foldLines(lines)
  if (text === '') throw source.problem('an empty item')
  refuseSigns(source, text)
  return { value: plainValue(text), end: offset + raw.length }
}

const plainItem = /(?:[^,[\]{}:#]|:(?![ \t\n,[\]{}])|(?<![ \t\n])#)*/y

function afterComma(source: SourceText, offset: number, close: string): number {
  const at = skipBlanks(source, offset)
  if (source.text[at] === close) return at
  if (source.text[at] !== ',') {
    source.goTo(at)
    throw source.problem(`expected "," or "${close}"; put texts with : # , [ ] { } in quotes`)
  }
  return skipBlanks(source, at + 1)
}

function skipBlanks(source: SourceText, offset: number): number {
  let at = offset
  for (;;) {
    while (/[ \t\n]/.test(source.text[at] ?? '')) at += 1
    if (source.text[at] !== '#' || !/[ \t\n]/.test(source.text[at - 1] ?? '')) return at
    while (at < source.text.length && source.text[at] !== '\n') at += 1
  }
}
