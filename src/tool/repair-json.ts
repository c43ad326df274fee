import type { JsonValue } from './json.js'
import { JsonTextError } from './json-text.js'
import { parseToolArgs } from './serialize.js'

/** Arguments that a model wrote, with the repairs that were needed to parse them; no repairs when they were JSON. */
export type ReadArguments = {
  readonly value: JsonValue
  /** The JSON text that was parsed. */
  readonly text: string
  readonly repairs: readonly string[]
}

/**
 * Parses arguments that a model wrote. Valid JSON is parsed unchanged. Text that is not JSON is repaired where only
 * one reading is possible: code fences, single quotes, bare keys, Python constants, extra commas, raw line breaks and
 * backslashes in strings, missing brackets at the end. Text that ends inside a value is never completed: the missing
 * part could be essential. Throws the `SyntaxError` of the original text.
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
      // Report the first error: it is about the text that the model wrote.
      throw error
    }
  }
}

/** The text ended before its brackets were closed. Callers that need complete text must reject it. */
export const bracketsAdded = 'brackets missing at the end were added'

const maxTextLength = 4_000_000

type Mended = { readonly text: string; readonly repairs: readonly string[] }

/** Rewrites the text as JSON in one pass; undefined where it would have to guess. The result must still be parsed. */
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
      // After the whole value only extra closing brackets can be removed.
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

/** Reads a string in either kind of quotes and returns it as JSON; undefined when it does not end. */
function readString(
  text: string,
  start: number,
  repairs: Set<string>,
): { json: string; end: number } | undefined {
  const quote = text.charAt(start)
  if (quote === "'") repairs.add('single quotes were read as double quotes')
  const out: string[] = ['"']
  // A backslash that starts no valid escape shows that backslashes were not escaped; then `\b` may be a word boundary
  // or a backspace.
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

/** Reads a number, a constant, or the bare name of a key. */
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
