import { createConversation } from '../loop/conversation.js'
import { isModelTrouble } from '../loop/events.js'
import { run } from '../loop/run.js'
import type { SessionCore } from './core.js'
import { partsFor } from './loop-parts.js'
import { supervisedPrompt } from './parts/supervision.js'

export type SideAnswer = {
  readonly question: string
  readonly answer: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number
}

/** A run like any other on a copy of what was said, which is then dropped. It may go on beside the run at work. */
export async function askAside(core: SessionCore, question: string): Promise<SideAnswer> {
  core.assertOpen()
  if (question.trim() === '') throw new TypeError('btw: question cannot be empty')
  const parts = await partsFor(
    core,
    core.closing.signal,
    createConversation({ messages: core.conversation.view }),
  )
  const { signal } = core.closing
  const prompt = await supervisedPrompt(core, 'pre_prompt', { prompt: question, aside: true }, signal)
  const { gate: _, takeSteering: __, firstRequest: ___, stopWhen: ____, roundDone: _____, ...aside } = parts
  const { text, usage, costUsd } = await run(
    {
      ...aside,
      // A model that calls a tool all the same is told that there is none here, and answers then.
      limits: { ...parts.limits, maxToolRounds: 2 },
      // The tools stay in the request, so that a provider finds the prefix it knows.
      request: { ...parts.request, toolChoice: 'none' },
      emit: (event) => void (isModelTrouble(event) && core.emit(event)),
    },
    { role: 'user', content: [{ type: 'text', text: prompt }] },
  )
  await core.keepSpending()
  return {
    question,
    answer: core.screen.text(text),
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    totalTokens: usage.totalTokens,
    ...(costUsd !== undefined && { costUsd }),
  }
}
