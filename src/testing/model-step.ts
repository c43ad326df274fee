import type { FinishReason, ModelToolCall, ModelUsage } from '../model/model.js'
import type { JsonValue } from '../tool/json.js'

/** A scripted tool call: with its arguments as a value, or as the exact text that the model writes. */
export type ScriptedToolCall = {
  readonly name: string
  readonly args?: JsonValue
  /** The arguments as text, valid or not. Overrides `args`. */
  readonly input?: string
  /** Default: derived from the numbers of the request and the call. */
  readonly id?: string
  /** Data that a provider needs back with this call. */
  readonly signature?: string
}

/** One answer of a scripted model. Every field is optional: an empty step is an empty answer. */
export type ModelStep = {
  readonly text?: string
  readonly reasoning?: string
  /** The provider's signature of its reasoning, which must be sent back with the history. */
  readonly signature?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  readonly usage?: Partial<ModelUsage>
  /** Default: `tool_calls` when there are any, otherwise `stop`. */
  readonly finish?: FinishReason
  /** The number of characters per piece of text, or the exact pieces of `text`. Default: words. */
  readonly deltas?: number | readonly string[]
  /** The delay before the first output. */
  readonly delayMs?: number
}

/** Steps in order, or a function from the request and its number (from 0) to the step; a string is a text step. */
export type ModelScript<Request, Step> =
  | readonly (Step | string)[]
  | ((request: Request, n: number) => Step | string | Promise<Step | string>)

/** A step with defaults filled in. */
export type SpokenStep = {
  readonly text: string
  readonly textPieces: readonly string[]
  readonly reasoning: string
  readonly reasoningPieces: readonly string[]
  readonly signature?: string
  readonly toolCalls: readonly SpokenToolCall[]
  readonly usage: Partial<ModelUsage>
  readonly finish: FinishReason
}
export type SpokenToolCall = ModelToolCall & {
  readonly inputPieces: readonly string[]
  readonly signature?: string
}

/** Returns the step for request number `n`, or undefined at the end of the script. */
export async function stepOf<Request, Step extends ModelStep>(
  script: ModelScript<Request, Step>,
  request: Request,
  n: number,
  fromText: (text: string) => Step,
): Promise<Step | undefined> {
  const step = typeof script === 'function' ? await script(request, n) : script[n]
  return typeof step === 'string' ? fromText(step) : step
}

/** Fills in the defaults of a step, for request number `n`. */
export function speak(step: ModelStep, n: number): SpokenStep {
  const { deltas } = step
  const size = typeof deltas === 'number' ? deltas : undefined
  const textPieces = typeof deltas === 'object' ? [...deltas] : piecesOf(step.text ?? '', size)
  const toolCalls = (step.toolCalls ?? []).map((call, index) => spokenCall(call, n, index, size))
  return {
    text: textPieces.join(''),
    textPieces,
    reasoning: step.reasoning ?? '',
    reasoningPieces: piecesOf(step.reasoning ?? '', size),
    ...(step.signature === undefined ? {} : { signature: step.signature }),
    toolCalls,
    usage: step.usage ?? {},
    finish: step.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
  }
}

function spokenCall(call: ScriptedToolCall, n: number, index: number, size?: number): SpokenToolCall {
  const input = call.input ?? JSON.stringify(call.args ?? {})
  return {
    id: call.id ?? `call_${n + 1}_${index + 1}`,
    name: call.name,
    input,
    inputPieces: piecesOf(input, size ?? inputPieceSize),
    ...(call.signature === undefined ? {} : { signature: call.signature }),
  }
}

const inputPieceSize = 12

/**
 * Splits text into pieces of `size` characters (a character outside the basic plane counts as one), or into words
 * with the space after them.
 */
function piecesOf(text: string, size?: number): string[] {
  if (size === undefined) return text.match(/\S+\s*|\s+/g) ?? []
  const characters = [...text]
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += Math.max(1, size))
    pieces.push(characters.slice(at, at + Math.max(1, size)).join(''))
  return pieces
}
