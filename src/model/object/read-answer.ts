import type { JsonValue } from '../../tool/json.js'
import { bracketsAdded, readToolArgs } from '../../tool/repair-json.js'
import type { ModelAnswer } from '../model.js'
import { jsonStart } from './json-start.js'

/** The value that a model wrote, or why there is none, as a message for the model. */
export type ReadAnswer = { readonly rawText: string } & (
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problem: string; readonly truncated: boolean }
)

/**
 * Reads a model's answer: the arguments of its call, or the JSON in its text, regardless of how it was requested.
 * Syntax errors are repaired where only one interpretation is possible. Incomplete data is never completed, because the
 * missing part could be essential.
 */
export function readObjectAnswer(
  { text, toolCalls, finish }: Pick<ModelAnswer, 'text' | 'toolCalls' | 'finish'>,
  toolName: string,
): ReadAnswer {
  const call = toolCalls.find(({ name }) => name === toolName) ?? toolCalls[0]
  const rawText = call?.input ?? text
  const failed = (problem: string, truncated = false): ReadAnswer => ({
    ok: false,
    rawText,
    problem,
    truncated,
  })
  if (rawText.trim() === '')
    return failed(finish === 'length' ? cutOff : 'Your answer was empty.', finish === 'length')
  let first: string | undefined
  for (const candidate of call === undefined ? candidatesIn(rawText) : [rawText]) {
    try {
      const { value, repairs } = readToolArgs(candidate)
      if (!repairs.includes(bracketsAdded)) return { ok: true, rawText, value }
      first ??= 'It ends before every bracket is closed.'
    } catch (error) {
      first ??= error instanceof SyntaxError ? error.message : undefined
    }
  }
  if (finish === 'length') return failed(cutOff, true)
  if (finish === 'content_filter') return failed('The provider cut off your answer.')
  return failed(`Your answer is not JSON. ${first ?? ''}`.trim())
}

const cutOff =
  'Your answer was cut off by the output limit before the JSON was complete. Write the whole answer again, shorter.'

/** Returns the parts of a text that may be JSON: all of it, a fenced block, or from the first bracket to its end. */
function candidatesIn(text: string): string[] {
  const spoken = text.trim()
  const fenced = [...spoken.matchAll(/```[A-Za-z]*[ \t]*\r?\n([\s\S]*?)```/g)].map(([, inside = '']) =>
    inside.trim(),
  )
  const start = jsonStart(spoken)
  const balanced = start === undefined ? undefined : balancedFrom(spoken, start)
  return [spoken, ...fenced.slice(0, maxFenced), ...(balanced === undefined ? [] : [balanced])]
}

const maxFenced = 5

/** Returns the text from an opening bracket to the one that closes it; undefined when it is not closed. */
function balancedFrom(text: string, start: number): string | undefined {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const char = text.charAt(at)
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return text.slice(start, at + 1)
  }
  return undefined
}
