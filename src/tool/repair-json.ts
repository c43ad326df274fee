import type { JsonValue } from './json.js'
import { JsonTextError } from './json-text.js'
import { parseToolArgs } from './serialize.js'

/** Arguments that a model wrote, and what had to be mended to read them; nothing when they were JSON. */
export type ReadArguments = {
  readonly value: JsonValue
  /** The JSON that was read. */
  readonly text: string
  readonly repairs: readonly string[]
}

/**
 * Reads arguments that a model wrote. JSON is read as it is, whatever it looks like. Text that is not JSON is mended where only one
 * reading is left: code fences, single quotes, bare keys, Python's constants, commas too many, raw line breaks and backslashes in
 * strings, brackets missing at the end. A text that breaks off inside a value is never completed: what is missing could be what
 * matters. Throws the `SyntaxError` of the text as it came.
 */
export function readToolArgs(text: string): ReadArguments {
  try {
    return { value: parseToolArgs(text), text, repairs: [] }
  } catch (error) {
    const mended = error instanceof JsonTextError && text.length <= maxTextLength ? mend(text) : undefined
    if (mended === undefined) throw error
    try {
      return { value: parseToolArgs(mended.text), ...mended }
    } catch {
      // The first problem is the one to tell: it is about what the model wrote.
      throw error
    }
  }
}

/** The text ended before what it had opened was closed: where nothing may be missing, this is no reading. */
export const bracketsAdded = 'brackets missing at the end were added'

const maxTextLength = 4_000_000

type Mended = { readonly text: string; readonly repairs: readonly string[] }

/** One walk over the text that writes it again as JSON; undefined where it would have to guess. The result is still to be parsed. */
function mend(source: string): Mended | undefined {
  const repairs = new Set<string>()
  const text = withoutFence(source, repairs)
  const out: string[] = []
  const open: ('}' | ']')[] = []
  const state: { comma: boolean; last: 'start' | 'number' | 'whole' | 'mark' } = {
    comma: false,
    last: 'start',
  }
  let at = 0

  const put = (token: string, kind: typeof state.last): void => {
    if (state.comma) out.push(',')
    state.comma = false
    out.push(token)
    state.last = kind
  }
  while (at < text.length) {
    const char = text.charAt(at)
    if (/\s/.test(char)) {
      at++
    } else if (open.length === 0 && state.last === 'whole') {
      // Behind the whole value only brackets too many can be left out.
      if (char !== '}' && char !== ']') return undefined
      repairs.add('a bracket too many was left out')
      at++
    } else if (char === '"' || char === "'") {
      const string = readString(text, at, repairs)
      if (string === undefined) return undefined
      put(string.json, 'whole')
      at = string.end
    } else if (char === '{' || char === '[') {
      put(char, 'mark')
      open.push(char === '{' ? '}' : ']')
      at++
    } else if (char === '}' || char === ']') {
      if (open.pop() !== char) return undefined
      if (state.comma) repairs.add('a comma before a closing bracket was left out')
      state.comma = false
      out.push(char)
      state.last = 'whole'
      at++
    } else if (char === ',') {
      if (state.comma || state.last === 'mark' || state.last === 'start') return undefined
      state.comma = true
      at++
    } else if (char === ':') {
      put(char, 'mark')
      at++
    } else {
      const keyPlace = open.at(-1) === '}' && (state.comma || out.at(-1) === '{')
      const word = readWord(text, at, keyPlace, repairs)
      if (word === undefined) return undefined
      put(word.json, word.kind)
      at = word.end
    }
  }
  if (state.comma || (open.length > 0 && state.last !== 'whole')) return undefined
  if (open.length > 0) repairs.add(bracketsAdded)
  return { text: [...out, ...open.reverse()].join(''), repairs: [...repairs] }
}

function withoutFence(text: string, repairs: Set<string>): string {
  const trimmed = text.replace(/^\ufeff/, '').trim()
  const fence = /^(`{3,})[A-Za-z0-9]*[ \t]*\r?\n/.exec(trimmed)
  const mark = fence?.[1]
  if (fence === null || mark === undefined || !trimmed.endsWith(mark)) return trimmed
  repairs.add('a code fence was left out')
  return trimmed.slice(fence[0].length, -mark.length).trim()
}

const escapes = new Set(['"', '\\', '/', 'b', 'f', 'n', 'r', 't'])

/** A string in either kind of quotes, as JSON; undefined when it does not end. */
function readString(
  text: string,
  start: number,
  repairs: Set<string>,
): { json: string; end: number } | undefined {
  const quote = text.charAt(start)
  if (quote === "'") repairs.add('single quotes were read as double quotes')
  const out: string[] = ['"']
  // A backslash that begins no escape shows that they were not escaped; then `\b` is as likely a word boundary as a backspace.
  const seen = { lone: false, unlikely: false }
  let at = start + 1
  let from = at
  const replace = (length: number, by: string): void => {
    out.push(text.slice(from, at), by)
    at += length
    from = at
  }
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === quote) {
      if (seen.lone && seen.unlikely) return undefined
      out.push(text.slice(from, at), '"')
      return { json: out.join(''), end: at + 1 }
    }
    if (char === '\\') {
      const next = text.charAt(at + 1)
      if (next === "'") replace(2, "'")
      else if (escapes.has(next) || /^u[0-9a-fA-F]{4}/.test(text.slice(at + 1, at + 6))) {
        seen.unlikely ||= next === 'b' || next === 'f'
        at += 2
      } else {
        seen.lone = true
        repairs.add('a lone backslash was read as a backslash')
        replace(1, '\\\\')
      }
    } else if (char === '"') replace(1, '\\"')
    else if (char < ' ') {
      repairs.add('line breaks and tabs in strings were escaped')
      replace(1, JSON.stringify(char).slice(1, -1))
    } else at++
  }
  return undefined
}

const constants: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

/** A number, a constant, or the bare name of a key. */
function readWord(
  text: string,
  start: number,
  mayBeKey: boolean,
  repairs: Set<string>,
): { json: string; end: number; kind: 'number' | 'whole' } | undefined {
  const word = sticky(/[^\s,:{}[\]"'`]+/y, text, start)
  const end = start + word.length
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word)) return { json: word, end, kind: 'number' }
  if (mayBeKey && /^[A-Za-z_$][\w$-]*$/.test(word) && /^\s*:/.test(text.slice(end, end + 100))) {
    repairs.add('bare keys were put in quotes')
    return { json: JSON.stringify(word), end, kind: 'whole' }
  }
  if (word === 'true' || word === 'false' || word === 'null') return { json: word, end, kind: 'whole' }
  const constant = Object.hasOwn(constants, word) ? constants[word] : undefined
  if (constant === undefined) return undefined
  repairs.add(`${word} was read as ${constant}`)
  return { json: constant, end, kind: 'whole' }
}

function sticky(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}
