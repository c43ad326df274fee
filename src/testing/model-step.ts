import type { FinishReason, ModelToolCall, ModelUsage } from '../model/model.js'
import type { JsonValue } from '../tool/json.js'

/** A tool call that a script lets the model make: with its arguments as a value, or as the very text the model writes. */
export type ScriptedToolCall = {
  readonly name: string
  readonly args?: JsonValue
  /** The arguments as text, well-formed or not. Wins over `args`. */
  readonly input?: string
  /** Made from the number of the request and of the call when left out. */
  readonly id?: string
  /** What a provider wants to see again with this call. */
  readonly signature?: string
}

/** One answer of a scripted model. Everything may be left out: an empty step is an empty answer. */
export type ModelStep = {
  readonly text?: string
  readonly reasoning?: string
  /** The provider's proof of its reasoning, which has to come back with the history. */
  readonly signature?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  readonly usage?: Partial<ModelUsage>
  /** `tool_calls` when there are any, else `stop`. */
  readonly finish?: FinishReason
  /** How many characters a piece of text has, or the very pieces of `text`. Words when left out. */
  readonly deltas?: number | readonly string[]
  /** How long the model thinks before its first word. */
  readonly delayMs?: number
}

/** Steps in order, or a function from the request and its number (from 0) to the step; a string stands for a step of that text. */
export type ModelScript<Request, Step> =
  | readonly (Step | string)[]
  | ((request: Request, n: number) => Step | string | Promise<Step | string>)

/** A step with everything filled in. */
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

/** The step for request number `n`, or undefined when the script has come to its end. */
export async function stepOf<Request, Step extends ModelStep>(
  script: ModelScript<Request, Step>,
  request: Request,
  n: number,
  fromText: (text: string) => Step,
): Promise<Step | undefined> {
  const step = typeof script === 'function' ? await script(request, n) : script[n]
  return typeof step === 'string' ? fromText(step) : step
}

/** Fills in what a step leaves open, for request number `n`. */
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

/** Pieces of `size` characters (a character outside the basic plane counts as one), or words with the space after them. */
function piecesOf(text: string, size?: number): string[] {
  if (size === undefined) return text.match(/\S+\s*|\s+/g) ?? []
  const characters = [...text]
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += Math.max(1, size))
    pieces.push(characters.slice(at, at + Math.max(1, size)).join(''))
  return pieces
}
