import type { CompletionRequest } from '../../tool/completion.js'
import { unlessAborted } from '../../tool/unless-aborted.js'
import type { AnswerBuilder } from '../answer-builder.js'
import { type AttemptParts, attemptRequest } from '../attempt-request.js'
import type { AttemptWatch } from '../attempt-watch.js'
import type { ModelAnswer, ModelCall, ModelFacts, PromptCache } from '../model.js'
import { retryPolicy, withRetries } from '../retry.js'
import { type AiSdkModel, specificationOf } from './ai-sdk-model.js'
import { StreamReader } from './read-stream.js'
import { toCallOptions } from './to-call-options.js'
import { endError, toModelError } from './to-model-error.js'

/** A model object, and what is known about it. */
export type AiSdkParts = Pick<AttemptParts, 'place' | 'pacer' | 'retry'> & {
  readonly facts: ModelFacts
  /** Returns the model object; called at every attempt. */
  load(): Promise<AiSdkModel>
  readonly sessionIdHeader?: string | undefined
  readonly promptCache?: PromptCache | undefined
  /** Whether an answer that ends without a finish reason counts as cut off. */
  readonly mustSayWhy?: boolean
}

/** Sends a request to the model object until it answers, or until a retry would not help. */
export function answerWith(
  parts: AiSdkParts,
  request: CompletionRequest,
  call: ModelCall,
): Promise<ModelAnswer> {
  return withRetries(() => attempt(parts, request, call), retryPolicy(call, parts.retry))
}

async function attempt(parts: AiSdkParts, request: CompletionRequest, call: ModelCall): Promise<ModelAnswer> {
  const { place, facts, sessionIdHeader } = parts
  const model = await parts.load()
  const target = {
    specification: specificationOf(model),
    provider: model.provider,
    facts,
    sessionIdHeader,
    url: place.url,
    id: place.id,
    promptCache: parts.promptCache,
  }
  const toError = (error: unknown, emitted: boolean) => toModelError(place, error, emitted)
  return attemptRequest({ ...parts, toError }, request, call, async ({ builder, watch, pace }) => {
    // A model object that ignores the signal must not block the run.
    const { stream, response } = await unlessAborted(
      model.doStream(toCallOptions(request, target, call, watch.signal)),
      watch.signal,
    )
    const { headers = {} } = response ?? {}
    pace.heard({ get: (name) => headers[name] ?? null })
    const reader = new StreamReader(builder)
    await readAll(stream, reader, builder, watch, call)
    const { end } = reader
    const failed = endError(place, end, builder.emitted, parts.mustSayWhy === true)
    if (failed !== undefined || end === undefined || end.finish === 'error') throw failed
    const { raw: _, finish, ...rest } = end
    return builder.finish({ ...rest, finish })
  })
}

async function readAll(
  stream: ReadableStream<unknown>,
  into: StreamReader,
  builder: AnswerBuilder,
  watch: AttemptWatch,
  call: ModelCall,
): Promise<void> {
  const reader = stream.getReader()
  let pieces = 0
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), watch.signal)
      if (done) return
      into.read(value)
      if (builder.pieces === pieces) continue
      pieces = builder.pieces
      watch.alive()
      const full = call.drain?.()
      if (full !== undefined) await watch.pause(full)
    }
  } finally {
    // Closes the connection when the stream was not read to the end; the result does not matter.
    reader.cancel().catch(() => undefined)
  }
}
