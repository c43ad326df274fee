import { isRecord } from '../../tool/json.js'
import type { AnswerBuilder, OpenToolCall } from '../answer-builder.js'
import { finishReasonOf } from '../finish-reason.js'
import type { FinishReason, ModelUsage } from '../model.js'

/** Adds the events of one answer of the Converse API to a builder. */
export class ConverseReader {
  readonly #builder: AnswerBuilder
  readonly #calls = new Map<unknown, OpenToolCall>()
  finish: FinishReason | undefined
  usage: ModelUsage | undefined

  constructor(builder: AnswerBuilder) {
    this.#builder = builder
  }

  read(type: string, event: Record<string, unknown>): void {
    const index = event['contentBlockIndex']
    if (type === 'contentBlockStart') {
      const use = recordIn(event['start'], 'toolUse')
      if (use !== undefined)
        this.#calls.set(index, this.#builder.toolCall(textIn(use, 'name'), textIn(use, 'toolUseId')))
    } else if (type === 'contentBlockDelta') this.#delta(index, event['delta'])
    else if (type === 'messageStop') this.finish = finishReasonOf(textIn(event, 'stopReason'))
    else if (type === 'metadata') this.usage = usageOf(event['usage'])
  }

  #delta(index: unknown, delta: unknown): void {
    if (!isRecord(delta)) return
    if (typeof delta['text'] === 'string') this.#builder.text(delta['text'])
    const use = recordIn(delta, 'toolUse')
    if (use !== undefined) this.#calls.get(index)?.append(textIn(use, 'input'))
    const reasoning = recordIn(delta, 'reasoningContent')
    if (reasoning === undefined) return
    const { text, signature, redactedContent } = reasoning
    if (typeof text === 'string') this.#builder.reasoning(text)
    if (typeof signature === 'string') this.#builder.reasoning('', { signature })
    if (typeof redactedContent === 'string') this.#builder.hiddenReasoning('redacted', redactedContent)
  }
}

/** Converts usage. Input tokens of Bedrock do not include those read from and written to the cache. */
function usageOf(usage: unknown): ModelUsage | undefined {
  if (!isRecord(usage)) return undefined
  const count = (name: string): number => (typeof usage[name] === 'number' ? usage[name] : 0)
  const [read, written] = [count('cacheReadInputTokens'), count('cacheWriteInputTokens')]
  const inputTokens = count('inputTokens') + read + written
  const outputTokens = count('outputTokens')
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(read > 0 && { cachedInputTokens: read }),
    ...(written > 0 && { cacheWriteTokens: written }),
  }
}

function recordIn(value: unknown, name: string): Record<string, unknown> | undefined {
  const found = isRecord(value) ? value[name] : undefined
  return isRecord(found) ? found : undefined
}

function textIn(value: Record<string, unknown>, name: string): string {
  const found = value[name]
  return typeof found === 'string' ? found : ''
}
