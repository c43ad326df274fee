import { ModelError } from '../model/errors.js'
import type { Model } from '../model/model.js'
import { nameOf } from '../model/provider-error.js'
import { isRecord } from '../tool/json.js'

/**
 * Throws when a model returned something that is not an answer. A host's own model can return anything, and a call
 * that is not part of the content, or two calls with the same id, would leave a history that no provider accepts.
 */
export function checkAnswer(model: Model, answer: unknown): void {
  const problem = problemOf(answer)
  if (problem !== undefined) throw new ModelError('model_bad_response', `${nameOf(model)} ${problem}`)
}

function problemOf(answer: unknown): string | undefined {
  if (!isRecord(answer)) return 'gave no answer'
  const { content, text, toolCalls, usage, finish, response } = answer
  if (!Array.isArray(content) || !Array.isArray(toolCalls) || typeof text !== 'string')
    return 'gave an answer without content, text or toolCalls'
  if (!isRecord(usage) || !isRecord(response) || typeof finish !== 'string')
    return 'gave an answer without usage, response or finish'
  const written = content.flatMap((part) =>
    isRecord(part) && part['type'] === 'tool_call' ? [part['id']] : [],
  )
  const called = toolCalls.map((call) => (isRecord(call) && isCall(call) ? call['id'] : undefined))
  if (called.includes(undefined)) return 'gave calls without an id, a name or an input'
  if (written.length !== called.length || written.some((id, at) => id !== called[at]))
    return 'gave other calls than its content holds'
  return new Set(called).size < called.length ? 'gave two calls the same id' : undefined
}

function isCall(call: Record<string, unknown>): boolean {
  return [call['id'], call['name'], call['input']].every((field) => typeof field === 'string')
}
