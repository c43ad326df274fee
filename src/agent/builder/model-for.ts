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

export type ToolCallDelta = Extract<CompletionStreamEvent, { type: 'tool_call_delta' }>

export type ModelUse = {
  /** A completion model is asked for pieces only when somebody reads them. */
  readonly streaming: boolean
  /** What a completion model itself says of a call that it is still writing. */
  onDelta(delta: ToolCallDelta): void
  /** Every answer costs, also one that middleware then throws away. */
  onUsage(usage: ModelUsage): void
  /** A request has failed for good. What it throws takes the error's place. */
  onError?(error: unknown): Promise<void>
}

/** The model of an agent, for one run. */
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

/** Whether a run with this model hears nothing until the whole answer is there. */
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
  return { ...whole, streamCompletion: (request) => overheard(model.streamCompletion(request), onDelta) }
}

function canStream(model: CompletionModel): model is StreamingCompletionModel {
  const { capabilities }: { readonly capabilities?: CompletionModel['capabilities'] } = model
  return capabilities?.streaming !== false && 'streamCompletion' in model
}

/** By hand rather than as a generator, so that ending it reaches the model at once. */
function overheard(
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
