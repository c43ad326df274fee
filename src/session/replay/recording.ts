import { noUsage, type Usage } from '../../loop/usage.js'
import type { ModelAnswer, ModelCall, ModelFacts, ModelUsage } from '../../model/model.js'
import { contentProblem } from '../../store/record-problem.js'
import type { StoredMessage } from '../../store/session-state.js'
import type { AssistantMessage, Message } from '../../tool/completion.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { serializeToolOutput } from '../../tool/serialize.js'

/** A session from its log, or its messages. */
export type RecordedSource = { readonly order: readonly StoredMessage[] } | readonly Message[]

/**
 * Returns the visible messages, with compactions. Throws for a value that is neither a session nor a list of messages.
 */
export function recordingOf(source: RecordedSource): readonly StoredMessage[] {
  assertSource(source)
  if ('order' in source) return source.order.filter(({ hidden }) => !hidden)
  return source.map((message, at) => {
    const id = `message-${at + 1}`
    const row = { id, sessionId: '', role: message.role, createdAtMs: 0 }
    return { id, row, message, hidden: false, pruned: false }
  })
}

function assertSource(source: unknown): asserts source is RecordedSource {
  const order = isRecord(source) ? source['order'] : undefined
  if (!Array.isArray(source) && !Array.isArray(order))
    throw wrongSource(`not ${source === null ? 'null' : `a value of type ${typeof source}`}`)
  const messages: unknown[] = Array.isArray(source)
    ? source
    : (order as unknown[]).map((entry) =>
        isRecord(entry) && isRecord(entry['row']) && typeof entry['id'] === 'string'
          ? entry['message']
          : undefined,
      )
  for (const [at, message] of messages.entries()) {
    const problem = messageProblem(message)
    if (problem !== undefined) throw wrongSource(`but message ${at + 1} ${problem}`)
  }
}

function wrongSource(problem: string): TypeError {
  return new TypeError(
    `A recording is a session as foldSession() gives it, or a list of messages, ${problem}. For a stored session: foldSession((await store.read(id))?.records ?? []).`,
  )
}

function messageProblem(message: unknown): string | undefined {
  if (!isRecord(message)) return 'is not a message'
  const { role, content } = message
  if (role === 'system') return typeof content === 'string' ? undefined : 'has no text'
  if (role !== 'user' && role !== 'assistant' && role !== 'tool')
    return 'has none of the roles user, assistant, tool and system'
  if (!Array.isArray(content)) return 'has no list of parts as its content'
  const problems = content.map((part) => contentProblem(part, 'blob'))
  const at = problems.findIndex((problem) => problem !== undefined)
  return at < 0 ? undefined : `has a part ${at + 1} that ${problems[at]}`
}

/** Returns a recorded answer as the answer of a model, and streams its text. */
export function recordedAnswer({ message, row }: StoredMessage, call: ModelCall): ModelAnswer {
  const { content, id } = message.role === 'assistant' ? message : empty
  for (const part of content) {
    if (part.type === 'text' || part.type === 'reasoning') call.on({ type: part.type, text: part.text })
    if (part.type !== 'tool_call') continue
    call.on({ type: 'tool_call', id: part.id, name: part.function.name })
    call.on({ type: 'tool_input', id: part.id, text: serializeToolOutput(part.function.arguments) })
  }
  const toolCalls = content.flatMap((part) =>
    part.type === 'tool_call'
      ? [
          {
            id: part.id,
            name: part.function.name,
            input: serializeToolOutput(part.function.arguments),
            ...omitUndefined({ callId: part.callId }),
          },
        ]
      : [],
  )
  return {
    content: [...content],
    text: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
    toolCalls,
    usage: usageFrom({ ...noUsage, ...(row.usage as Partial<Usage> | undefined) }),
    finish: toolCalls.length > 0 ? 'tool_calls' : 'stop',
    response: { ...omitUndefined({ id }) },
  }
}

const empty: AssistantMessage = { role: 'assistant', content: [] }

/** An empty answer, which leaves no message in the history. */
export const noAnswer: ModelAnswer = {
  content: [],
  text: '',
  toolCalls: [],
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  finish: 'stop',
  response: {},
}

/** The context window is large enough for any recording, so nothing is summarized again. */
export const recordedFacts: ModelFacts = {
  contextTokens: 1_000_000_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: true,
  temperature: true,
  structuredOutput: true,
}

function usageFrom(usage: Usage): ModelUsage {
  return {
    inputTokens: usage.promptTokens,
    outputTokens: usage.completionTokens,
    totalTokens: usage.totalTokens,
    cachedInputTokens: usage.cacheReadTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    reasoningTokens: usage.reasoningTokens,
  }
}
