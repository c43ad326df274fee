import { performance } from 'node:perf_hooks'
import type {
  AssistantContent,
  CompletionRequest,
  ImageContent,
  ReasoningContent,
} from '../tool/completion.js'
import { tryOr } from '../tool/errors.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { parseJsonText } from '../tool/json-text.js'
import { reasoningText } from '../tool/message.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { type AnswerLimits, answerTooLarge, defaultAnswerLimits } from './answer-limits.js'
import type { ModelError } from './errors.js'
import { estimateUsage } from './estimate-tokens.js'
import type { FinishReason, ModelAnswer, ModelCall, ModelToolCall, ModelUsage } from './model.js'
import { toolCallIdsIn } from './tool-call-ids.js'

/** A tool call whose arguments are still arriving. Its id is final. */
export type OpenToolCall = {
  readonly id: string
  readonly name: string
  /** The arguments received so far. */
  readonly input: string
  append(text: string): void
  /** Sets the whole arguments, for providers that repeat them at the end or send them at once. */
  settle(text: string): void
  /** Adds data that the provider expects to get back with the call: its own second id, a signature. */
  mark(marks: { readonly callId?: string; readonly signature?: string }): void
}

/** The end of an answer: reason, usage and response. Without `usage` it is estimated. */
export type AnswerEnd = {
  readonly finish: FinishReason
  readonly usage?: ModelUsage | undefined
  readonly raw?: unknown
  readonly response?: Omit<ModelAnswer['response'], 'firstTokenMs'>
}

/**
 * Collects the pieces of one attempt into an answer, and emits each piece as an event. Empty pieces are ignored: they
 * emit no event and do not reset the idle timeout.
 */
export class AnswerBuilder {
  readonly #request: CompletionRequest
  readonly #on: ModelCall['on']
  readonly #startedAt = performance.now()
  readonly #parts: Part[] = []
  #last: Part | undefined
  #text = ''
  #events = 0
  #firstAt: number | undefined
  readonly #ownIds = new Set<string>()
  readonly #name: string
  readonly #limits: Required<AnswerLimits>
  /** The size of the answer so far, and the number of calls. */
  #chars = 0
  #calls = 0

  /** `name` is the name of the model in messages. */
  constructor(request: CompletionRequest, call: Pick<ModelCall, 'on' | 'limits'>, name = 'The model') {
    this.#request = request
    this.#on = (event) => call.on(event)
    this.#name = name
    this.#limits = { ...defaultAnswerLimits, ...call.limits }
  }

  /** Adds to the size of the answer. Throws when it exceeds the limit. */
  spend(chars: number): void {
    this.#chars += chars
    if (this.#chars > this.#limits.maxAnswerChars)
      throw this.#tooLarge(
        `an answer of more than ${this.#limits.maxAnswerChars} characters`,
        'maxAnswerChars',
      )
  }

  /** Counts a call before it is stored. Throws when there are too many. */
  spendCall(): void {
    this.#calls++
    const { maxCallsPerAnswer } = this.#limits
    if (this.#calls > maxCallsPerAnswer)
      throw this.#tooLarge(`more than ${maxCallsPerAnswer} tool calls in one answer`, 'maxCallsPerAnswer')
  }

  #tooLarge(what: string, option: string): ModelError {
    return answerTooLarge(this.#name, what, option, this.emitted)
  }

  /** The number of pieces received so far. */
  get pieces(): number {
    return this.#events
  }

  /** Whether any piece was received. */
  get emitted(): boolean {
    return this.#events > 0
  }

  text(text: string): void {
    if (text === '') return
    this.spend(text.length + charsPerPiece)
    const last = this.#last
    if (last?.type === 'text') last.text = this.#joined(last.text, text)
    else this.#add({ type: 'text', text })
    this.#text = this.#joined(this.#text, text)
    this.#said()
    this.#on({ type: 'text', text })
  }

  /** Adds reasoning. A new `id` starts a new block. A signature can arrive with the text or alone. */
  reasoning(text: string, marks: { readonly id?: string; readonly signature?: string } = noMarks): void {
    const { id, signature } = marks
    if (text === '' && signature === undefined) return
    this.spend(text.length + (signature?.length ?? 0) + charsPerPiece)
    const block = this.#reasoningBlock(id)
    if (signature !== undefined) block.signature = signature
    block.text = this.#joined(block.text, text)
    this.#said()
    if (text !== '') this.#on({ type: 'reasoning', text })
  }

  /** Adds reasoning that is not shown, but returned to the provider with the history. */
  hiddenReasoning(
    type: 'encrypted' | 'redacted',
    data: string,
    marks: { readonly id?: string; readonly signature?: string } = noMarks,
  ): void {
    const { id, signature } = marks
    if (data === '' && signature === undefined) return
    this.spend(data.length + (signature?.length ?? 0) + charsPerPiece)
    const block = this.#reasoningBlock(id)
    if (signature !== undefined) block.signature = signature
    block.content ??= block.text === '' ? [] : [{ type: 'text', text: block.text }]
    const last = block.content.at(-1)
    if (last?.type === type) last.data = this.#joined(last.data, data)
    else block.content.push({ type, data })
    this.#said()
  }

  /** Adds a whole block of reasoning as the provider sent it. Only its text is shown. */
  reasoningPart(part: ReasoningContent): void {
    this.#spendReasoning(part)
    this.#add<ReasoningContent>({ ...part })
    this.#said()
    const shown = reasoningText(part)
    if (shown !== '') this.#on({ type: 'reasoning', text: shown })
  }

  /**
   * Replaces blocks that arrived in pieces by whole blocks, which may contain more. They are matched by id, or else by
   * order. Blocks without pieces come first.
   */
  settleReasoning(parts: readonly ReasoningContent[]): void {
    if (!parts.some(({ content, signature }) => content !== undefined || signature !== undefined)) return
    const open = this.#parts.filter((part) => part.type === 'reasoning')
    const unseen: ReasoningContent[] = []
    for (const part of parts) {
      const named = open.find(({ id }) => id !== undefined && id === part.id)
      const block = named ?? open.find(({ id }) => id === undefined || part.id === undefined)
      this.#spendReasoning(part)
      if (block === undefined) unseen.push({ ...part })
      else {
        open.splice(open.indexOf(block), 1)
        Object.assign(block, part)
      }
    }
    this.#parts.unshift(...unseen)
  }

  #spendReasoning({ text, signature = '', content = [] }: ReasoningContent): void {
    const hidden = content.reduce((sum, part) => sum + ('data' in part ? part.data : part.text).length, 0)
    this.spend(text.length + signature.length + hidden + charsPerPiece)
  }

  #reasoningBlock(id: string | undefined): ReasoningContent {
    const last = this.#last
    const block =
      last?.type === 'reasoning' && (id === undefined || last.id === undefined || last.id === id)
        ? last
        : this.#add<ReasoningContent>({ type: 'reasoning', text: '' })
    if (id !== undefined) block.id = id
    return block
  }

  image(image: Omit<ImageContent, 'type'>): void {
    this.spend(image.data.length)
    this.#add({ type: 'image', ...image })
    this.#said()
  }

  /** Starts a tool call. An id that is missing or already used in the conversation is replaced by a new one. */
  toolCall(name: string, providerId?: string): OpenToolCall {
    this.spendCall()
    this.spend(name.length + (providerId?.length ?? 0))
    const call: CallPart = { type: 'call', id: this.#freeId(providerId), name, input: '', marks: {} }
    this.#add(call)
    this.#said()
    this.#on({ type: 'tool_call', id: call.id, name })
    const { maxArgumentChars } = this.#limits
    const admit = (chars: number): void => {
      if (chars > maxArgumentChars)
        throw this.#tooLarge(`arguments of more than ${maxArgumentChars} characters`, 'maxArgumentChars')
    }
    const append = (text: string): void => {
      if (text === '') return
      this.spend(text.length + charsPerPiece)
      admit(call.input.length + text.length)
      call.input = this.#joined(call.input, text)
      this.#said()
      this.#on({ type: 'tool_input', id: call.id, text })
    }
    return {
      id: call.id,
      name,
      get input() {
        return call.input
      },
      append,
      settle: (text) => {
        if (text.startsWith(call.input)) append(text.slice(call.input.length))
        else {
          this.spend(text.length)
          admit(text.length)
          call.input = text
        }
      },
      mark(marks) {
        call.marks = { ...call.marks, ...marks }
      },
    }
  }

  /** Returns the answer. */
  finish({ finish, usage, response, raw }: AnswerEnd): ModelAnswer {
    // Not with `map`: once V8 has optimized it, its array has another hidden class, and every function that reads an
    // answer is compiled again.
    const content: AssistantContent[] = []
    const toolCalls: ModelToolCall[] = []
    for (const part of this.#parts) {
      content.push(contentOf(part))
      if (part.type === 'call') toolCalls.push(toolCallOf(part))
    }
    const firstTokenMs = this.#firstAt === undefined ? undefined : this.#firstAt - this.#startedAt
    return {
      content,
      text: this.#text,
      toolCalls,
      usage: usage ?? estimateUsage(this.#request, content),
      finish: agreedFinish(finish, toolCalls.length > 0),
      raw,
      response: { ...response, ...omitUndefined({ firstTokenMs }) },
    }
  }

  #add<Added extends Part>(part: Added): Added {
    // Each part has a fixed cost, so that an answer of a million short parts counts as much as one long text.
    this.spend(charsPerPart)
    this.#parts.push(part)
    this.#last = part
    return part
  }

  /**
   * Appends to a text and flattens it from time to time: a text that grew by many pieces is a tree of strings, which
   * takes more memory.
   */
  #joined(text: string, piece: string): string {
    const joined = text + piece
    if (this.#events % piecesPerText === 0) joined.charCodeAt(joined.length - 1)
    return joined
  }

  #said(): void {
    if (this.#events++ === 0) this.#firstAt = performance.now()
  }

  #freeId(wanted: string | undefined): string {
    const earlier = toolCallIdsIn(this.#request.chatHistory)
    const own = this.#ownIds
    let id = wanted ?? ''
    for (let n = earlier.size + own.size + 1; id === '' || earlier.has(id) || own.has(id); n++)
      id = `call_${n}`
    own.add(id)
    return id
  }
}

/** Returns arguments for the history: the object, or the original text if it is not an object. */
function argumentsOf(input: string): JsonObject | string {
  // The gate reports an error of the parser to the model.
  const value = tryOr(() => parseJsonText(input), undefined)
  return isRecord(value) ? value : input
}

const noMarks = {}
const charsPerPart = 200
/** The cost of one piece in characters, because each piece is an event for every reader. */
const charsPerPiece = 8
const piecesPerText = 4096

type CallPart = {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  input: string
  marks: { readonly callId?: string; readonly signature?: string }
}
type Part = Exclude<AssistantContent, { type: 'tool_call' }> | CallPart

function contentOf(part: Part): AssistantContent {
  if (part.type !== 'call') return part
  const { id, name, input } = toolCallOf(part)
  return { type: 'tool_call', id, function: { name, arguments: argumentsOf(input) }, ...part.marks }
}

function toolCallOf({ id, name, input, marks: { callId } }: CallPart): ModelToolCall {
  return {
    id,
    name,
    input: input.trim() === '' ? '{}' : input,
    ...omitUndefined({ callId }),
  }
}

/**
 * Corrects the finish reason by the tool calls: some providers end with `stop` although they call a tool, or vice
 * versa.
 */
export function agreedFinish(finish: FinishReason, callsTools: boolean): FinishReason {
  if (callsTools) return finish === 'stop' || finish === 'other' ? 'tool_calls' : finish
  return finish === 'tool_calls' ? 'stop' : finish
}
