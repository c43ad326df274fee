import { createConversation } from '../loop/conversation.js'
import { isModelTrouble } from '../loop/events.js'
import { run } from '../loop/run.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { featuresWith } from './features-with.js'
import type { SessionKernel } from './kernel.js'
import { partsFor } from './loop-parts.js'

/** The answer to a side question. */
export type SideAnswer = {
  readonly question: string
  readonly answer: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number
}

/** Runs a question on a copy of the conversation, which is then dropped. It can run at the same time as another run. */
export async function askAside(kernel: SessionKernel, question: string): Promise<SideAnswer> {
  kernel.assertOpen()
  if (question.trim() === '') throw new TypeError('btw: question cannot be empty')
  const parts = await partsFor(
    kernel,
    kernel.signal,
    createConversation({ messages: kernel.log.conversation.view }),
  )
  let prompt = question
  for (const feature of featuresWith('rewriteSideQuestion'))
    prompt = await feature.rewriteSideQuestion(kernel, prompt, kernel.signal)
  const { gate: _, takeSteering: __, firstRequest: ___, stopWhen: ____, roundDone: _____, ...aside } = parts
  const { text, usage, costUsd } = await run(
    {
      ...aside,
      // A model that calls a tool anyway gets an error for the call, and then answers.
      limits: { ...parts.limits, maxToolRounds: 2 },
      // The tools stay in the request, so that the provider's prompt cache still matches the prefix.
      request: { ...parts.request, toolChoice: 'none' },
      emit: (event) => void (isModelTrouble(event) && kernel.emit(event)),
    },
    { role: 'user', content: [{ type: 'text', text: prompt }] },
  )
  await kernel.spending.save()
  return {
    question,
    answer: kernel.redactor.text(text),
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    totalTokens: usage.totalTokens,
    ...omitUndefined({ costUsd }),
  }
}
