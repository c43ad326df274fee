import { ModelError } from './errors.js'

/** Limits for one answer of a model server. Beyond each, the attempt ends with `model_answer_too_large`. */
export type AnswerLimits = {
  /** Text, reasoning, arguments and images of an answer together, in characters. */
  readonly maxAnswerChars?: number
  /** The arguments of one call, in characters. */
  readonly maxArgumentChars?: number
  readonly maxCallsPerAnswer?: number
  /** The body of one response after decompression, including everything that is not part of the answer, in bytes. */
  readonly maxResponseBytes?: number
}

export const defaultAnswerLimits = {
  maxAnswerChars: 4_000_000,
  maxArgumentChars: 2_000_000,
  maxCallsPerAnswer: 128,
  maxResponseBytes: 64 * 1024 * 1024,
} as const satisfies Required<AnswerLimits>

/** The maximum length of a line, event or JSON body of a response, in characters. */
export const maxEventChars = 8 * 1024 * 1024
/** How many bytes of an error response are read. */
export const maxRefusalBytes = 64 * 1024
/** The default time limit of one attempt. */
export const defaultAttemptTimeoutMs = 1_800_000

/**
 * Creates the error for an answer that exceeds a limit. It is not retryable, because a retry would have the same
 * result.
 */
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
