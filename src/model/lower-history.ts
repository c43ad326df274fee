import type {
  AssistantContent,
  AssistantMessage,
  Message,
  ToolMessage,
  ToolResultPart,
} from '../tool/completion.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { walkHistory, whenForgotten } from './append-only.js'

/** The result for a call without a recorded one. */
const interruptedText = 'interrupted, outcome unknown'

/**
 * Returns the history in the form that providers accept: every tool call has exactly one result right after its
 * message, every result has a call, nothing is empty, and arguments are objects. Returns the same array when nothing
 * must be changed. Each message is examined once, so long histories cost little.
 */
export function lowerHistory(history: readonly Message[]): readonly Message[] {
  return isLegal(history) ? history : repair(history)
}

function isLegal(history: readonly Message[]): boolean {
  const { flawed, open, answered } = looked(history)
  return !flawed && answered.length === open.length
}

/** Only compares ids; the results of examining a message are cached. */
const looked = walkHistory<{ flawed: boolean; open: readonly string[]; readonly answered: string[] }>(
  () => ({ flawed: false, open: none, answered: [] }),
  (state, message) => {
    if (state.flawed) return
    const { clean, calls, results } = examine(message)
    if (clean !== message) state.flawed = true
    else if (results !== none) state.flawed = !answer(state.open, state.answered, results)
    else {
      state.flawed = state.answered.length !== state.open.length
      state.open = calls
      // Setting a length is a call into V8, and most messages of a long history follow no result.
      if (state.answered.length > 0) state.answered.length = 0
    }
  },
)

/** Records the results; returns false when a result has no call or occurs twice. */
function answer(calls: readonly string[], answered: string[], results: readonly string[]): boolean {
  for (const id of results) {
    if (answered.includes(id) || !calls.includes(id)) return false
    answered.push(id)
  }
  return true
}

/** Repairs a history. Runs for every request once a history has a flaw, so valid messages are reused unchanged. */
function repair(history: readonly Message[]): Message[] {
  const lowered: Message[] = []
  let answeredIds: Set<string> | undefined
  for (let at = 0; at < history.length; at++) {
    const { clean, calls } = examine(history[at] ?? absent)
    // Results are added after their calls.
    if (clean === undefined || clean.role === 'tool') continue
    lowered.push(clean)
    if (clean.role !== 'assistant' || calls.length === 0) continue
    const following = completeResults(history, at + 1, calls)
    if (following !== undefined) {
      for (const results of following) lowered.push(results)
    } else {
      answeredIds ??= new Set(history.flatMap((message) => examine(message).results))
      lowered.push(answersTo(clean, calls, history, at, answeredIds))
    }
  }
  return lowered
}

/** Returns the tool messages right after the calls, if they contain exactly one result for each call. */
function completeResults(
  history: readonly Message[],
  from: number,
  calls: readonly string[],
): Message[] | undefined {
  const following: Message[] = []
  const answered: string[] = []
  for (let at = from; at < history.length && answered.length < calls.length; at++) {
    const { clean, results } = examine(history[at] ?? absent)
    if (clean === undefined) continue
    if (results === none || !answer(calls, answered, results)) return undefined
    following.push(clean)
  }
  return answered.length === calls.length ? following : undefined
}

/** Returns the results of a message's calls, in their order: found later in the history, or reported as unknown. */
function answersTo(
  message: AssistantMessage,
  calls: readonly string[],
  history: readonly Message[],
  at: number,
  answeredIds: ReadonlySet<string>,
): ToolMessage {
  const wanted = new Set(calls.filter((id) => answeredIds.has(id)))
  const found = new Map<string, ToolResultPart>()
  for (let next = at + 1; next < history.length && wanted.size > 0; next++) {
    const later = history[next]
    if (later?.role === 'tool') {
      for (const result of later.content) if (wanted.delete(result.id)) found.set(result.id, result)
    } else if (later?.role === 'assistant') {
      // From here on, a reused id belongs to the later call.
      for (const id of examine(later).calls) wanted.delete(id)
    }
  }
  const made = calls.map((id) => found.get(id) ?? interrupted(id, message))
  const before = answers.get(message)
  if (before?.content.length === made.length && before.content.every((part, n) => part === made[n]))
    return before
  const results: ToolMessage = { role: 'tool', content: made }
  answers.set(message, results)
  return results
}

// The same objects are returned each time, so that caches by identity still work.
const answers = new WeakMap<AssistantMessage, ToolMessage>()
const interruptions = new WeakMap<AssistantContent, ToolResultPart>()

function interrupted(id: string, message: AssistantMessage): ToolResultPart {
  const call = message.content.find((part) => part.type === 'tool_call' && part.id === id)
  const before = call && interruptions.get(call)
  if (before !== undefined) return before
  const result: ToolResultPart = {
    type: 'tool_result',
    id,
    ...(call?.type === 'tool_call' && {
      toolName: call.function.name,
      ...omitUndefined({ callId: call.callId }),
    }),
    content: [{ type: 'text', text: interruptedText }],
    isError: true,
  }
  if (call !== undefined) interruptions.set(call, result)
  return result
}

type Examined = {
  /** The same message when it has no flaw; undefined when nothing remains of it. */
  readonly clean: Message | undefined
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

const none: readonly string[] = []
/** Placeholder for a missing list element. */
const absent: Message = { role: 'system', content: '' }
const examined = new WeakMap<Message, Examined>()
whenForgotten((history) => {
  for (const message of history) examined.delete(message)
})

/** Examines a message. Caches results that took work; plain texts are examined again, which costs less than caching. */
function examine(message: Message): Examined {
  if (isPlain(message)) return { clean: message, calls: none, results: none }
  let facts = examined.get(message)
  if (facts === undefined) {
    const clean = cleanMessage(message)
    facts = {
      clean,
      calls: clean?.role === 'assistant' ? callsIn(clean.content) : none,
      results: clean?.role === 'tool' ? clean.content.map(({ id }) => id) : none,
    }
    examined.set(message, facts)
  }
  return facts
}

function isPlain({ role, content }: Message): boolean {
  if (role === 'system') return !isBlank(content)
  if (role === 'tool' || content.length !== 1) return false
  const [part] = content
  return part?.type === 'text' && !isBlank(part.text)
}

function callsIn(content: readonly AssistantContent[]): readonly string[] {
  const ids = content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
  return ids.length === 0 ? none : ids
}

function cleanMessage(message: Message): Message | undefined {
  switch (message.role) {
    case 'system':
      return isBlank(message.content) ? undefined : message
    case 'user': {
      const content = filtered(message.content, (part) => part.type !== 'text' || !isBlank(part.text))
      if (content.length === 0) return undefined
      return content === message.content ? message : { ...message, content }
    }
    case 'assistant':
      return cleanAssistant(message)
    case 'tool':
      return message.content.length === 0 ? undefined : message
  }
}

/** Cleans an answer. Reasoning alone is not a message: no provider accepts it without text or calls. */
function cleanAssistant(message: AssistantMessage): AssistantMessage | undefined {
  const ids = new Set<string>()
  const content = filtered(message.content, (part) => {
    if (part.type === 'text') return !isBlank(part.text)
    if (part.type !== 'tool_call') return true
    const fresh = !ids.has(part.id)
    ids.add(part.id)
    return fresh
  })
  if (content.every((part) => part.type === 'reasoning')) return undefined
  const lowered = content.some(hasRawArguments) ? content.map(withObjectArguments) : content
  return lowered === message.content ? message : { ...message, content: lowered }
}

function hasRawArguments(part: AssistantContent): boolean {
  return part.type === 'tool_call' && !isRecord(part.function.arguments)
}

function withObjectArguments(part: AssistantContent): AssistantContent {
  if (part.type !== 'tool_call' || isRecord(part.function.arguments)) return part
  const { name, arguments: raw } = part.function
  const malformed = typeof raw === 'string' ? raw : JSON.stringify(raw)
  return { ...part, function: { name, arguments: { malformed_arguments: malformed } } }
}

/** Filters items; returns the same array when no item is removed. */
function filtered<Item>(items: Item[], stays: (item: Item) => boolean): Item[] {
  const left = items.filter(stays)
  return left.length === items.length ? items : left
}

function isBlank(text: string): boolean {
  return !/\S/.test(text)
}
