import type { FeatureContext } from '../feature/feature-context.js'
import { createConversation } from '../loop/conversation.js'
import { type AgentEvent, isModelTrouble } from '../loop/events.js'
import { run } from '../loop/run.js'
import type { Model, ModelAnswer } from '../model/model.js'
import type { ObjectAsk, ObjectParts, ReceivedPiece } from '../model/object/index.js'
import type { GeneratedObject, ObjectRequest } from '../model/object/object-request.js'
import { omitUndefined } from '../tool/omit-undefined.js'

export type GenerateOptions<Value> = Pick<ObjectParts<Value>, 'check' | 'onPartial' | 'signal'> & {
  /** A model to use instead of the session's. */
  readonly model?: Model | undefined
}

/** Requests data from the session's model. Each request is a run of one round, whose conversation is discarded. */
export async function generateFor<Value = unknown>(
  session: FeatureContext,
  request: ObjectRequest,
  { model, ...options }: GenerateOptions<Value> = {},
): Promise<GeneratedObject<Value> & { readonly costUsd?: number }> {
  session.assertOpen()
  const { generateObject } = await import('../model/object/index.js')
  const closing = session.signal
  let costUsd: number | undefined
  const made = await generateObject<Value>(request, {
    ...options,
    facts: (model ?? session.models.current()).facts,
    signal: options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]),
    now: () => session.now(),
    ask: async (asked, signal, onPiece) => {
      const { answer, cost } = await askOnce(session, asked, signal, onPiece, model)
      if (cost !== undefined) costUsd = (costUsd ?? 0) + cost
      return answer
    },
  }).finally(() => session.spending.save())
  return { ...made, ...omitUndefined({ costUsd }) }
}

async function askOnce(
  session: FeatureContext,
  { instructions, chatHistory, tools, toolChoice, outputSchema }: ObjectAsk,
  signal: AbortSignal,
  onPiece: (piece: ReceivedPiece) => void,
  model: Model | undefined,
): Promise<{ readonly answer: ModelAnswer; readonly cost: number | undefined }> {
  const parts = await session.loopParts(signal, createConversation({ messages: chatHistory }))
  const { gate: _, takeSteering: __, firstRequest: ___, roundDone: ____, compaction: _____, ...aside } = parts
  let answer: ModelAnswer | undefined
  const { costUsd: cost } = await run({
    ...aside,
    ...(model !== undefined && { model: () => model, fallbacks: () => [] }),
    instructions: () => instructions,
    tools: () => tools,
    // The call is the answer: no tool runs, and no further request is sent.
    limits: { ...parts.limits, maxToolRounds: 1, continuationEnabled: false },
    stopWhen: [() => true],
    request: {
      ...parts.request,
      ...omitUndefined({ toolChoice, outputSchema }),
    },
    answered: (given) => {
      answer = given
    },
    // The caller sees the object while it is generated: secrets must be removed from the pieces too.
    emit: session.redactor.events((event) => onObjectEvent(session, event, onPiece)),
  })
  if (answer === undefined) throw new Error('the model gave no answer')
  return { answer, cost }
}

function onObjectEvent(
  session: FeatureContext,
  event: AgentEvent,
  onPiece: (piece: ReceivedPiece) => void,
): void {
  if (event.type === 'text_delta') onPiece({ text: event.text })
  else if (event.type === 'tool_input_delta') onPiece({ text: event.text, callId: event.toolId })
  else if (event.type === 'answer_restarted') onPiece({ restart: true })
  else if (isModelTrouble(event) || (event.type === 'notice' && event.source !== 'model')) session.emit(event)
}
