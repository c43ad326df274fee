import type {
  AssistantContent,
  CompletionResponse,
  CompletionUsage,
  ToolCallContent,
} from '../tool/completion.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { AnswerBuilder, AnswerEnd, OpenToolCall } from './answer-builder.js'
import type { CompletionStreamEvent } from './completion-model.js'

/** Puts what a completion model says, in pieces or at once, into an answer. */
export class CompletionReader {
  readonly #answer: AnswerBuilder
  /** Calls of which only deltas came so far, by the provider's id. */
  readonly #open = new Map<string, OpenToolCall>()
  /** Arguments of calls whose name is not known yet. */
  readonly #unnamed = new Map<string, string>()
  /** The provider's ids of calls that are complete. One may occur twice: not every model takes care of them. */
  readonly #finished: string[] = []
  readonly #said = new Set<string>()
  #usage: CompletionUsage | undefined
  #id: string | undefined

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
        const { delta, id, signature } = event
        this.#said.add('reasoning')
        this.#answer.reasoning(delta, marks(id, signature))
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

  /** The whole answer. What was said in pieces before is not said again. */
  response({ choice, usage, messageId }: CompletionResponse): void {
    this.#usage = usage
    this.#id = messageId ?? this.#id
    const streamed = new Set(this.#said)
    const known = [...this.#finished]
    for (const part of choice) {
      if (part.type === 'tool_call') {
        const at = known.indexOf(part.id)
        if (at < 0) this.#call(part)
        else known.splice(at, 1)
      } else if (!streamed.has(part.type)) this.#part(part)
    }
  }

  end(): AnswerEnd {
    return {
      // The protocol knows no reason for the end; tool calls speak for themselves.
      finish: 'stop',
      ...(this.#usage !== undefined && { usage: { ...this.#usage } }),
      response: this.#id === undefined ? {} : { id: this.#id },
    }
  }

  #part(part: Exclude<AssistantContent, ToolCallContent>): void {
    if (part.type === 'text') this.#answer.text(part.text)
    else if (part.type === 'reasoning') this.#answer.reasoning(part.text, marks(part.id, part.signature))
    else
      this.#answer.image({
        data: part.data,
        ...(part.mediaType !== undefined && { mediaType: part.mediaType }),
      })
  }

  #delta(event: Extract<CompletionStreamEvent, { type: 'tool_call_delta' }>): void {
    const { id, name, argumentsDelta = '', argumentsMode = 'append' } = event
    const before = this.#open.get(id)
    if (before === undefined && name === undefined) {
      const known = argumentsMode === 'append' ? (this.#unnamed.get(id) ?? '') : ''
      this.#unnamed.set(id, known + argumentsDelta)
      return
    }
    const call = before ?? this.#begin(id, name ?? '')
    if (argumentsMode === 'replace') call.settle(argumentsDelta)
    else call.append(argumentsDelta)
    call.mark(callMarks(event))
  }

  #begin(id: string, name: string): OpenToolCall {
    const call = this.#answer.toolCall(name, id)
    this.#open.set(id, call)
    call.append(this.#unnamed.get(id) ?? '')
    return call
  }

  #call(part: ToolCallContent): void {
    const call = this.#open.get(part.id) ?? this.#begin(part.id, part.function.name)
    call.settle(serializeToolOutput(part.function.arguments ?? {}))
    call.mark(callMarks(part))
    this.#open.delete(part.id)
    this.#unnamed.delete(part.id)
    this.#finished.push(part.id)
  }
}

function marks(id: string | undefined, signature: string | undefined): { id?: string; signature?: string } {
  return { ...(id !== undefined && { id }), ...(signature !== undefined && { signature }) }
}

function callMarks(call: { readonly callId?: string; readonly signature?: string }): {
  callId?: string
  signature?: string
} {
  return {
    ...(call.callId !== undefined && { callId: call.callId }),
    ...(call.signature !== undefined && { signature: call.signature }),
  }
}
