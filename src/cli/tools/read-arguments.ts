import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { UsageError } from '../errors.js'

/** Parses the arguments of a tool from a command line: one JSON object, or `name=value` with JSON or plain text. */
export function readArguments(words: readonly string[]): Record<string, unknown> {
  const [first, ...more] = words
  if (first === undefined) return {}
  if (first.trimStart().startsWith('{')) {
    if (more.length > 0)
      throw new UsageError('Arguments must be one JSON object, or words of the form name=value.')
    return readObject(first)
  }
  return Object.fromEntries(words.map(readWord))
}

function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch (error) {
    throw new UsageError(`The arguments are not valid JSON: ${messageOf(error)}`)
  }
  throw new UsageError('The arguments must be a JSON object.')
}

function readWord(word: string): [string, unknown] {
  const at = word.indexOf('=')
  if (at <= 0)
    throw new UsageError(
      `${JSON.stringify(word)} is not an argument.`,
      'Write name=value, or all arguments as one JSON object.',
    )
  const [name, text] = [word.slice(0, at), word.slice(at + 1)]
  // Parses only what cannot be plain text: numbers, booleans, null, lists, objects and quoted strings.
  if (!/^(-?\d|true$|false$|null$|[[{"])/.test(text)) return [name, text]
  try {
    return [name, JSON.parse(text)]
  } catch {
    // It starts like JSON but is text: `1st`, `[draft]`.
    return [name, text]
  }
}
