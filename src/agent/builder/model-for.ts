import { assertMediaSupported } from '../../model/completion-capability.js'
import {
  type CompletionModel,
  type CompletionStreamEvent,
  fromCompletionModel,
  isCompletionModel,
  type StreamingCompletionModel,
} from '../../model/completion-model.js'
import type { Model, ModelUsage } from '../../model/model.js'
import type { BuilderModel } from './settings.js'

/** A part of a tool call that a completion model streams. */
export type ToolCallDelta = Extract<CompletionStreamEvent, { type: 'tool_call_delta' }>

export type ModelUse = {
  /** Whether the caller reads events. A completion model is asked to stream only in that case. */
  readonly streaming: boolean
  /** Called with the tool call deltas of a completion model. */
  onDelta(delta: ToolCallDelta): void
  /** Called with every answer, because answers that middleware discards cost tokens, too. */
  onUsage(usage: ModelUsage): void
  /** Called when a request has finally failed. An error that it throws replaces the original one. */
  onError?(error: unknown): Promise<void>
}

/** The model of an agent for one run. */
export function modelFor(model: BuilderModel, use: ModelUse): Model {
  const asked = isCompletionModel(model) ? fromCompletionModel(completionModelFor(model, use)) : model
  return {
    provider: asked.provider,
    id: asked.id,
    facts: asked.facts,
    async answer(request, call) {
      assertMediaSupported(asked, request)
      try {
        const answer = await asked.answer(request, call)
        use.onUsage(answer.usage)
        return answer
      } catch (error) {
        await use.onError?.(error)
        throw error
      }
    },
  }
}

/** Whether this model returns its whole answer at once, without streaming. */
export function answersAtOnce(model: BuilderModel, streaming: boolean): boolean {
  return isCompletionModel(model) && !(streaming && canStream(model))
}

function completionModelFor(
  model: CompletionModel,
  { streaming, onDelta }: ModelUse,
): CompletionModel | StreamingCompletionModel {
  const { provider, defaultModel, capabilities } = model
  const whole: CompletionModel = {
    provider,
    defaultModel,
    capabilities,
    completion: (request) => model.completion(request),
  }
  if (!streaming || !canStream(model)) return whole
  return { ...whole, streamCompletion: (request) => withDeltas(model.streamCompletion(request), onDelta) }
}

function canStream(model: CompletionModel): model is StreamingCompletionModel {
  const { capabilities }: { readonly capabilities?: CompletionModel['capabilities'] } = model
  return capabilities?.streaming !== false && 'streamCompletion' in model
}

/** Written as an iterator, not as a generator, so that `return()` reaches the model at once. */
function withDeltas(
  events: AsyncIterable<CompletionStreamEvent>,
  onDelta: ModelUse['onDelta'],
): AsyncIterable<CompletionStreamEvent> {
  return {
    [Symbol.asyncIterator]() {
      const inner = events[Symbol.asyncIterator]()
      return {
        async next() {
          const step = await inner.next()
          if (!step.done && step.value.type === 'tool_call_delta') onDelta(step.value)
          return step
        },
        async return() {
          return (await inner.return?.()) ?? { done: true, value: undefined }
        },
      }
    },
  }
}
