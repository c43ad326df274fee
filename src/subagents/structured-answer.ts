import { messageOf } from '../tool/errors.js'
import type { JsonSchema } from '../tool/json.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { parseJsonText } from '../tool/json-text.js'
import { listProblems } from '../tool/problem.js'

/** The prompt of a task whose answer is read by a program. */
export function askedForJson(prompt: string, schema: JsonSchema): string {
  return `${prompt}\n\nYour final answer must be one JSON value and nothing else: no words around it, no code fence. It must fit this JSON Schema:\n${JSON.stringify(schema)}`
}

export function repairPrompt(problem: string): string {
  return `Your final answer does not fit its JSON Schema: ${problem}\nAnswer again with the corrected JSON value and nothing else.`
}

export type StructuredAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string }

/** The answer as data. Throws `TypeError` when the schema is none. */
export function readStructured(text: string, schema: JsonSchema): StructuredAnswer {
  const compiled = compileJsonSchema(schema)
  let value: unknown
  try {
    value = parseJsonText(withoutFence(text))
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
  const checked = compiled.check(value)
  if (checked.ok) return checked
  return { ok: false, problem: `\n${listProblems(checked.problems, value, 'the answer')}` }
}

/** Models put a fence around JSON even when the prompt forbids it. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}
