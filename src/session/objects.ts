import { createConversation } from '../loop/conversation.js'
import { type AgentEvent, isModelTrouble } from '../loop/events.js'
import { run } from '../loop/run.js'
import type { ModelAnswer } from '../model/model.js'
import type { ObjectAsk, ObjectParts, ReceivedPiece } from '../model/object/index.js'
import type { GeneratedObject, ObjectRequest } from '../tool/runtime.js'
import type { SessionCore } from './core.js'
import { partsFor } from './loop-parts.js'
import { sum } from './spending.js'

export type GenerateOptions<Value> = Pick<ObjectParts<Value>, 'check' | 'onPartial' | 'signal'>

/** Data from the session's model. Each request is a run like any other, of one round, on a conversation that is then dropped. */
export async function generateFor<Value = unknown>(
  core: SessionCore,
  request: ObjectRequest,
  options: GenerateOptions<Value> = {},
): Promise<GeneratedObject<Value> & { readonly costUsd?: number }> {
  core.assertOpen()
  const { generateObject } = await import('../model/object/index.js')
  const closing = core.closing.signal
  let costUsd: number | undefined
  const made = await generateObject<Value>(request, {
    ...options,
    facts: core.model().facts,
    signal: options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]),
    now: core.now,
    ask: async (asked, signal, hear) => {
      const { answer, cost } = await askOnce(core, asked, signal, hear)
      costUsd = sum(costUsd, cost)
      return answer
    },
  }).finally(() => core.keepSpending())
  return { ...made, ...(costUsd !== undefined && { costUsd }) }
}

async function askOnce(
  core: SessionCore,
  { instructions, chatHistory, tools, toolChoice, outputSchema }: ObjectAsk,
  signal: AbortSignal,
  hear: (piece: ReceivedPiece) => void,
): Promise<{ readonly answer: ModelAnswer; readonly cost: number | undefined }> {
  const parts = await partsFor(core, signal, createConversation({ messages: chatHistory }))
  const { gate: _, takeSteering: __, firstRequest: ___, roundDone: ____, compaction: _____, ...aside } = parts
  let answer: ModelAnswer | undefined
  const { costUsd: cost } = await run({
    ...aside,
    instructions: () => instructions,
    tools: () => tools,
    // The call is the answer: nothing runs, and nothing is said after it.
    limits: { ...parts.limits, maxToolRounds: 1, continuationEnabled: false },
    stopWhen: [() => true],
    request: {
      ...parts.request,
      ...(toolChoice !== undefined && { toolChoice }),
      ...(outputSchema !== undefined && { outputSchema }),
    },
    answered: (given) => {
      answer = given
    },
    // Whoever watches sees it grow: nothing may be in it then that is taken out of the whole.
    emit: core.screen.events((event) => onObjectEvent(core, event, hear)),
  })
  if (answer === undefined) throw new Error('the model gave no answer')
  return { answer, cost }
}

function onObjectEvent(core: SessionCore, event: AgentEvent, hear: (piece: ReceivedPiece) => void): void {
  if (event.type === 'text_delta') hear({ text: event.text })
  else if (event.type === 'tool_input_delta') hear({ text: event.text, callId: event.toolId })
  else if (event.type === 'answer_restarted') hear({ restart: true })
  else if (isModelTrouble(event) || (event.type === 'notice' && event.source !== 'model')) core.emit(event)
}
