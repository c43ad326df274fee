import { ModelError } from './errors.js'

/** How much of one answer is taken from a model server. Beyond each, the attempt ends with `model_answer_too_large`. */
export type AnswerLimits = {
  /** Text, reasoning, arguments and images of an answer together, in characters. */
  readonly maxAnswerChars?: number
  /** The arguments of one call, in characters. */
  readonly maxArgumentChars?: number
  readonly maxCallsPerAnswer?: number
  /** The body of one response after decompression, with everything that is no answer, in bytes. */
  readonly maxResponseBytes?: number
}

export const defaultAnswerLimits = {
  maxAnswerChars: 4_000_000,
  maxArgumentChars: 2_000_000,
  maxCallsPerAnswer: 128,
  maxResponseBytes: 64 * 1024 * 1024,
} as const satisfies Required<AnswerLimits>

/** The longest line, event or JSON body of a response, in characters. */
export const maxEventChars = 8 * 1024 * 1024
/** How much of a response that is an error is read, in bytes. */
export const maxRefusalBytes = 64 * 1024
/** How long one attempt may take when nothing else is said. */
export const defaultAttemptTimeoutMs = 1_800_000

/** Asking again would bring the same, so it is not tried again. */
export function answerTooLarge(
  name: string,
  what: string,
  option: string | undefined,
  emitted: boolean,
): ModelError {
  const advice =
    option === undefined
      ? 'The server is at fault: use another.'
      : `Set ${option} to accept more, or use another server.`
  return new ModelError('model_answer_too_large', `${name} sent ${what}. ${advice}`, { emitted })
}
