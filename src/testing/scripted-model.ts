import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { AnswerBuilder } from '../model/answer-builder.js'
import { ModelError } from '../model/errors.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts, ModelUsage } from '../model/model.js'
import type { CompletionRequest } from '../tool/completion.js'
import { type ModelScript, type ModelStep, speak, stepOf } from './model-step.js'

/** A step that can also fail or never end, after its output. */
export type ScriptedStep = ModelStep & {
  readonly error?: Error
  /** Emits its output and then nothing, until the request is aborted. */
  readonly hang?: boolean
}

/** A model that answers from a script, with the requests that it received. */
export type ScriptedModel = Model & {
  /** All requests so far. */
  readonly requests: readonly CompletionRequest[]
}

/** The settings of {@link scriptedModel}. */
export type ScriptedModelOptions = {
  readonly provider?: string
  readonly id?: string
  readonly facts?: Partial<ModelFacts>
}

/**
 * Creates a model that answers from a script, for tests that need no server: one step per request, in order.
 *
 * @example
 * ```ts
 * const model = scriptedModel([{ toolCalls: [{ name: 'read', args: { path: 'a.txt' } }] }, 'It says hello.'])
 * ```
 */
export function scriptedModel(
  script: ModelScript<CompletionRequest, ScriptedStep>,
  options: ScriptedModelOptions = {},
): ScriptedModel {
  const requests: CompletionRequest[] = []
  const id = options.id ?? 'script'
  return {
    provider: options.provider ?? 'scripted',
    id,
    facts: { ...scriptedFacts, ...options.facts },
    requests,
    async answer(request, call) {
      // Messages never change, but the list grows.
      const n = requests.push({ ...request, chatHistory: [...request.chatHistory] }) - 1
      call.signal.throwIfAborted()
      const step = await stepOf<CompletionRequest, ScriptedStep>(script, request, n, (text) => ({ text }))
      if (step === undefined) throw endOfScript(n, script.length)
      return play(step, n, id, request, call)
    },
  }
}

const scriptedFacts: ModelFacts = {
  contextTokens: 200_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: true,
  temperature: true,
  structuredOutput: true,
}

function endOfScript(n: number, steps: number): ModelError {
  return new ModelError(
    'model_unavailable',
    `The scripted model has ${steps} step(s) and was asked for answer ${n + 1}: add a step, or see model.requests for the request.`,
  )
}

async function play(
  step: ScriptedStep,
  n: number,
  model: string,
  request: CompletionRequest,
  call: ModelCall,
): Promise<ModelAnswer> {
  const { signal } = call
  const spoken = speak(step, n)
  if (step.delayMs !== undefined) await thinking(step.delayMs, signal)
  const answer = new AnswerBuilder(request, call)
  const between = async (): Promise<void> => {
    await call.drain?.()
    signal.throwIfAborted()
  }
  for (const piece of spoken.reasoningPieces) {
    answer.reasoning(piece)
    await between()
  }
  if (spoken.signature !== undefined) answer.reasoning('', { signature: spoken.signature })
  for (const piece of spoken.textPieces) {
    answer.text(piece)
    await between()
  }
  for (const scripted of spoken.toolCalls) {
    const open = answer.toolCall(scripted.name, scripted.id)
    if (scripted.signature !== undefined) open.mark({ signature: scripted.signature })
    for (const piece of scripted.inputPieces) {
      open.append(piece)
      await between()
    }
  }
  if (step.error !== undefined) throw step.error
  if (step.hang === true) {
    if (!signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
  }
  return answer.finish({
    finish: spoken.finish,
    ...(step.usage === undefined ? {} : { usage: wholeUsage(step.usage) }),
    response: { id: `scripted-${n + 1}`, model },
  })
}

async function thinking(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}

function wholeUsage(usage: Partial<ModelUsage>): ModelUsage {
  const { inputTokens = 0, outputTokens = 0 } = usage
  return { ...usage, inputTokens, outputTokens, totalTokens: usage.totalTokens ?? inputTokens + outputTokens }
}
