import type { CompletionRequest } from '../tool/completion.js'
import { AnswerBuilder } from './answer-builder.js'
import { type AttemptWatch, watchAttempt } from './attempt-watch.js'
import { estimateTokens } from './estimate-tokens.js'
import type { ModelAnswer, ModelCall } from './model.js'
import { noteLimit, type Pace, type Pacer } from './pacer.js'
import { type ModelPlace, nameOf, watchError } from './provider-error.js'
import type { RetryTiming } from './retry.js'

/** The parts of a model that every attempt uses. */
export type AttemptParts = {
  readonly place: ModelPlace
  /** Shared by all requests to the model. */
  readonly pacer: Pacer
  readonly retry?: RetryTiming | undefined
  /** Converts an error that the provider's own code threw. */
  readonly toError?: ((error: unknown, emitted: boolean) => unknown) | undefined
}

/** One attempt, after the rate limit has admitted it. */
export type Attempt = {
  readonly builder: AnswerBuilder
  readonly watch: AttemptWatch
  readonly pace: Pace
}

/**
 * Makes one attempt at a request: waits for the rate limit, enforces the time limits, and reports to the pacer what the
 * attempt used and whether the provider rejected it. `send` sends the request and reads the answer.
 */
export async function attemptRequest(
  { place, pacer, retry, toError }: AttemptParts,
  request: CompletionRequest,
  call: ModelCall,
  send: (attempt: Attempt) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const builder = new AnswerBuilder(request, call, nameOf(place))
  const admitted = pacer.admit(() => estimateTokens(request), call, retry)
  const pace = admitted instanceof Promise ? await admitted : admitted
  const watch = watchAttempt(call)
  let used: number | undefined
  try {
    const answer = await send({ builder, watch, pace })
    used = answer.usage.totalTokens
    return answer
  } catch (error) {
    // An abort can cause many kinds of errors, so the signal's reason is thrown instead.
    call.signal.throwIfAborted()
    const { emitted } = builder
    const failure = watchError(place, watch.ended, call, emitted) ?? toError?.(error, emitted) ?? error
    noteLimit(pace, failure)
    throw failure
  } finally {
    watch.stop()
    pace.ended(used)
  }
}
