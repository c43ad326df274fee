import { deepest, readFlow, readQuoted, refuseSigns, setKey } from './flow.js'
import { foldBlock, foldLines, plainValue, trimBlanks, trimBlanksEnd } from './scalars.js'
import { indentOf, quoted, SourceText } from './source-text.js'

export type YamlFields = {
  readonly fields: Readonly<Record<string, unknown>>
  /** The line number of each field. */
  readonly lines: ReadonlyMap<string, number>
}

/** Longer texts are rejected. */
const maxYamlLength = 64 * 1024

/**
 * Parses the YAML of a Markdown file's front matter and of small configuration files: one mapping, with block and flow
 * collections and all kinds of scalars. Anchors, aliases and tags are rejected, so that no small text becomes a large
 * value. A plain text that contains a colon and a space, which YAML requires to be quoted and users often do not quote,
 * is accepted. Throws {@link YamlError} with the line.
 *
 * Hand-written because callers are synchronous and `capstan run` reads agents and skills before its first request:
 * loading the package `yaml` takes about 12 ms more CPU time, which is more than the start budget has left. Converting
 * 800 bytes of nested `? ` takes that package more than 20 s, and these files are not trusted.
 */
export function readYaml(text: string, firstLine = 1): YamlFields {
  const source = new SourceText(text, firstLine)
  if (text.length > maxYamlLength)
    throw source.problem(`${text.length} characters, of which ${maxYamlLength} are read; make it shorter`)
  if (source.peek()?.text === '---') source.at += 1
  const lines = new Map<string, number>()
  const first = source.peek()
  if (first === undefined) return { fields: {}, lines }
  const value =
    keyOf(source, first.text, first.indent) === undefined
      ? readNode(source, 0, 0)
      : readMapping(source, first.indent, 0, lines)
  if (source.peek() !== undefined) throw source.problem(strayText(source.peek()?.text ?? ''))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw source.problem('fields are expected, such as "name: something"')
  return { fields: value as Record<string, unknown>, lines }
}

/** Parses the value that begins on the next line, which is indented by at least `least`. */
function readNode(source: SourceText, least: number, depth: number): unknown {
  const line = source.peek()
  if (line === undefined || line.indent < least) return null
  if (depth > deepest) throw source.problem(`nested deeper than ${deepest} levels`)
  if (isItem(line.text)) return readSequence(source, line.indent, depth)
  if (keyOf(source, line.text, line.indent) !== undefined) return readMapping(source, line.indent, depth)
  return readValue(source, line.indent, least - 1, depth)
}

function readMapping(
  source: SourceText,
  indent: number,
  depth: number,
  lines?: Map<string, number>,
): Record<string, unknown> {
  const map: Record<string, unknown> = {}
  for (let line = source.peek(); line !== undefined && line.indent >= indent; line = source.peek()) {
    if (line.indent > indent) throw source.problem('indented further than the line before it')
    const key = keyOf(source, line.text, indent)
    if (key === undefined || isItem(line.text)) throw source.problem(strayText(line.text))
    setKey(source, map, key.name, undefined)
    lines?.set(key.name, source.lineNumber())
    map[key.name] = readValue(source, indent + key.length, indent, depth, true)
  }
  return map
}

function readSequence(source: SourceText, indent: number, depth: number): unknown[] {
  const items: unknown[] = []
  for (let line = source.peek(); line !== undefined && line.indent >= indent; line = source.peek()) {
    if (line.indent > indent) throw source.problem('indented further than the line before it')
    if (!isItem(line.text)) break
    if (/^-[ \t]*(?:#|$)/.test(line.text)) source.at += 1
    else
      source.lines[source.at] =
        `${' '.repeat(indent + 1)}${(source.lines[source.at] ?? '').slice(indent + 1)}`
    items.push(readNode(source, indent + 1, depth + 1))
  }
  return items
}

/** Parses the value that begins at this column of the next line. Its parent is indented by `outer`. */
function readValue(source: SourceText, column: number, outer: number, depth: number, ofKey = false): unknown {
  const line = source.lines[source.at] ?? ''
  const start = column + indentOf(line.slice(column).replace(/\t/g, ' '))
  const text = trimBlanksEnd(line.slice(start))
  if (text === '' || text.startsWith('#')) return readBelow(source, outer, depth)
  if (text.startsWith('"') || text.startsWith("'")) {
    const { value, end } = readQuoted(source, source.offset(start))
    source.leave(end)
    return value
  }
  if (text.startsWith('[') || text.startsWith('{')) {
    const { value, end } = readFlow(source, source.offset(start), depth + 1)
    source.leave(end)
    return value
  }
  if (/^[|>]/.test(text)) return readBlock(source, text, outer)
  if (ofKey && isItem(text)) throw source.problem('a list begins on the line below its key')
  refuseSigns(source, text)
  return plainValue(readPlain(source, text, outer))
}

/** Parses the value below a key, if there is one. A list can have the same indentation as its key. */
function readBelow(source: SourceText, outer: number, depth: number): unknown {
  source.at += 1
  const next = source.peek()
  if (next === undefined) return null
  if (next.indent > outer) return readNode(source, outer + 1, depth + 1)
  return next.indent === outer && isItem(next.text) ? readSequence(source, outer, depth + 1) : null
}

/** Parses a text without quotes, which can continue on lines that are indented further. */
function readPlain(source: SourceText, first: string, outer: number): string {
  const lines = [withoutComment(first)]
  let commented = lines[0] !== first
  source.at += 1
  while (!commented && source.at < source.lines.length) {
    const raw = source.lines[source.at] ?? ''
    const text = trimBlanks(raw)
    if (text !== '' && (indentOf(raw) <= outer || text.startsWith('#'))) break
    if (/^[:?](?:[ \t]|$)/.test(text) || keyOf(source, text, indentOf(raw)) !== undefined)
      throw source.problem(`${quoted(text)} looks like a field inside a text; put the text in quotes`)
    lines.push(withoutComment(text))
    commented = lines.at(-1) !== text
    source.at += 1
  }
  while (lines.at(-1) === '') lines.pop()
  return foldLines(lines)
}

/** Parses a text after `|` or `>`, line by line. */
function readBlock(source: SourceText, header: string, outer: number): string {
  const found = /^([|>])([+-]?)([1-9]?)([+-]?)[ \t]*(?:#.*)?$/.exec(header)
  if (found === null) throw source.problem(`${quoted(header)} begins with a sign of YAML; put it in quotes`)
  const [, style, sign = '', given = '', late = ''] = found
  source.at += 1
  let indent = given === '' ? undefined : Math.max(outer, 0) + Number(given)
  const lines: string[] = []
  for (; source.at < source.lines.length; source.at += 1) {
    const raw = source.lines[source.at] ?? ''
    const own = indentOf(raw)
    if (own < raw.length) {
      indent ??= own
      if (own < indent || indent <= outer) break
    }
    lines.push(indent === undefined ? '' : raw.slice(indent))
  }
  let tail = 0
  while (lines.at(-1) === '') {
    lines.pop()
    tail += 1
  }
  const text = style === '|' ? lines.join('\n') : foldBlock(lines)
  const chomp = sign === '' ? late : sign
  // The last line break of the file ends its last line, and does not begin another.
  const atEnd = source.at >= source.lines.length ? 1 : 0
  if (chomp === '+') return text + '\n'.repeat(Math.max(0, tail - atEnd) + (lines.length > 0 ? 1 : 0))
  return chomp === '-' || lines.length === 0 ? text : `${text}\n`
}

/** Returns the key at the beginning of a line and its length including the colon. */
function keyOf(
  source: SourceText,
  text: string,
  column: number,
): { readonly name: string; readonly length: number } | undefined {
  if (/^["']/.test(text)) {
    const quotedKey = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:(?=[ \t]|$)/.exec(text)
    if (quotedKey === null) return undefined
    const { value } = readQuoted(source, source.offset(column))
    return { name: value, length: quotedKey[0].length }
  }
  if (/^(?:[-?:](?:[ \t]|$)|[[\]{}#&*!|>%@`,])/.test(text)) return undefined
  const plain = commentAt(text) === -1 ? text : text.slice(0, commentAt(text))
  for (let at = plain.indexOf(':'); at >= 0; at = plain.indexOf(':', at + 1)) {
    const next = plain[at + 1]
    if (next === undefined || next === ' ' || next === '\t')
      return { name: trimBlanksEnd(plain.slice(0, at)), length: at + 1 }
  }
  return undefined
}

function isItem(text: string): boolean {
  return text === '-' || /^-[ \t]/.test(text)
}

function withoutComment(text: string): string {
  const at = commentAt(text)
  return at < 0 ? text : trimBlanksEnd(text.slice(0, at))
}

/** Returns where a comment begins: at a "#" after a space. */
function commentAt(text: string): number {
  for (let at = text.indexOf('#'); at >= 0; at = text.indexOf('#', at + 1))
    if (at === 0 || text[at - 1] === ' ' || text[at - 1] === '\t') return at
  return -1
}

function strayText(text: string): string {
  if (/^(?:---|\.\.\.)(?:\s|$)/.test(text)) return 'a second document begins; one is read'
  return `${quoted(text)} is neither a field such as "name: something" nor part of the one before`
}
