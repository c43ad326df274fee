import type {
  AssistantContent,
  CompletionResponse,
  CompletionUsage,
  ReasoningContent,
  ToolCallContent,
} from '../tool/completion.js'
import { tryOr } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { AnswerBuilder, AnswerEnd, OpenToolCall } from './answer-builder.js'
import type { CompletionStreamEvent } from './completion-model.js'

/** Adds the output of a completion model, streamed or whole, to an answer. */
export class CompletionReader {
  readonly #answer: AnswerBuilder
  /** The started calls. An id can occur twice, because not every model makes ids unique. */
  readonly #calls: KnownCall[] = []
  /** Arguments of calls whose name is not known yet, by the provider's id. */
  readonly #unnamed = new Map<string, string>()
  readonly #said = new Set<string>()
  #usage: CompletionUsage | undefined
  #id: string | undefined
  #raw: { readonly value: unknown } | undefined

  constructor(answer: AnswerBuilder) {
    this.#answer = answer
  }

  event(event: CompletionStreamEvent): void {
    switch (event.type) {
      case 'text_delta':
        this.#said.add('text')
        this.#answer.text(event.delta)
        break
      case 'reasoning_delta': {
        const { delta, id, signature, contentType } = event
        this.#said.add('reasoning')
        if (contentType === 'encrypted' || contentType === 'redacted')
          this.#answer.hiddenReasoning(contentType, delta, marks(id, signature))
        else this.#answer.reasoning(delta, marks(id, signature))
        break
      }
      case 'tool_call_delta':
        this.#delta(event)
        break
      case 'tool_call':
        this.#call(event.toolCall)
        break
      case 'message_id':
        this.#id = event.id
        break
      case 'final':
        this.response(event.response)
        break
      case 'error':
        throw event.error
    }
  }

  /** Adds the whole answer, except what was already streamed. */
  response({ choice, usage, messageId, rawResponse }: CompletionResponse): void {
    this.#usage = usage
    this.#id = messageId ?? this.#id
    this.#raw = { value: rawResponse }
    const streamed = new Set(this.#said)
    const known = [...this.#calls]
    if (streamed.has('reasoning')) this.#answer.settleReasoning(choice.filter(isReasoning))
    for (const part of choice) {
      if (part.type === 'tool_call') {
        const repeated = findCall(known, part)
        if (repeated === undefined) this.#call(part)
        else {
          known.splice(known.indexOf(repeated), 1)
          if (!repeated.isWhole) complete(repeated, part)
        }
      } else if (!streamed.has(part.type)) this.#part(part)
    }
  }

  end(): AnswerEnd {
    return {
      // The protocol has no finish reason; it is corrected if there are tool calls.
      finish: 'stop',
      usage: this.#usage && { ...this.#usage },
      raw: this.#raw?.value,
      response: this.#id === undefined ? {} : { id: this.#id },
    }
  }

  #part(part: Exclude<AssistantContent, ToolCallContent>): void {
    if (part.type === 'text') this.#answer.text(part.text)
    else if (part.type === 'reasoning') this.#answer.reasoningPart(part)
    else
      this.#answer.image({
        data: part.data,
        ...omitUndefined({ mediaType: part.mediaType }),
      })
  }

  #delta(event: Extract<CompletionStreamEvent, { type: 'tool_call_delta' }>): void {
    const { id, argumentsDelta = '', argumentsMode = 'append' } = event
    const name = event.name || undefined
    const before = this.#openCall(event)
    if (before === undefined && name === undefined) {
      const known = argumentsMode === 'append' ? (this.#unnamed.get(id) ?? '') : ''
      this.#unnamed.set(id, known + argumentsDelta)
      return
    }
    const known = before ?? this.#begin(id, name ?? '')
    if (argumentsMode === 'replace') known.call.settle(argumentsDelta)
    else known.call.append(argumentsDelta)
    mark(known, event)
  }

  #openCall(piece: CallIds): KnownCall | undefined {
    return findCall(
      this.#calls.filter(({ isWhole }) => !isWhole),
      piece,
    )
  }

  #begin(id: string, name: string): KnownCall {
    const known: KnownCall = { id, callId: undefined, call: this.#answer.toolCall(name, id), isWhole: false }
    this.#calls.push(known)
    known.call.append(this.#unnamed.get(id) ?? '')
    this.#unnamed.delete(id)
    return known
  }

  #call(part: ToolCallContent): void {
    const known = this.#openCall(part) ?? this.#begin(part.id, part.function.name)
    known.call.settle(argumentsOf(part))
    known.isWhole = true
    mark(known, part)
  }
}

/** A call that the model has started, with the provider's ids. */
type KnownCall = {
  readonly id: string
  callId: string | undefined
  readonly call: OpenToolCall
  isWhole: boolean
}

type CallIds = { readonly id: string; readonly callId?: string }

/** Finds a call. The same call can be sent again with another id; its second id then identifies it. */
function findCall(calls: readonly KnownCall[], { id, callId }: CallIds): KnownCall | undefined {
  const same = calls.find((one) => one.id === id)
  if (same !== undefined || !callId) return same
  return calls.find((one) => one.callId === callId)
}

/** Completes a call that was only streamed. Its streamed arguments are used, unless they are incomplete. */
function complete(known: KnownCall, part: ToolCallContent): void {
  const isJson = tryOr(() => JSON.parse(known.call.input), undefined) !== undefined
  if (!isJson) known.call.settle(argumentsOf(part))
  known.isWhole = true
  mark(known, part)
}

function argumentsOf({ function: { arguments: given } }: ToolCallContent): string {
  return serializeToolOutput(given ?? {})
}

/** Sets ids and signature. A later piece can omit, or leave empty, a value that an earlier one had. */
function mark(known: KnownCall, given: { readonly callId?: string; readonly signature?: string }): void {
  const callId = given.callId || undefined
  const signature = given.signature || undefined
  known.callId ??= callId
  known.call.mark({ ...omitUndefined({ callId, signature }) })
}

function isReasoning(part: AssistantContent): part is ReasoningContent {
  return part.type === 'reasoning'
}

function marks(id: string | undefined, signature: string | undefined): { id?: string; signature?: string } {
  return { ...(id && { id }), ...(signature && { signature }) }
}
