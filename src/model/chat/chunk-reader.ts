import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import type { AnswerBuilder, OpenToolCall } from '../answer-builder.js'
import { finishReasonOf } from '../finish-reason.js'
import type { FinishReason, ModelUsage } from '../model.js'
import { readUsage } from './read-usage.js'

/** What the chunks contain besides content. */
export type ChunkFacts = {
  finish?: FinishReason
  usage?: ModelUsage
  id?: string
  model?: string
}

/**
 * Adds the chunks of one answer to a builder: deltas of a stream, or the whole message of a server that does not
 * stream. Accepts the variations that servers send in practice: calls without index or id, arguments as objects, late
 * names, usage in any position.
 */
export class ChunkReader {
  readonly facts: ChunkFacts = {}
  readonly #builder: AnswerBuilder
  readonly #calls: CallSlot[] = []
  #refused = false

  constructor(builder: AnswerBuilder) {
    this.#builder = builder
  }

  read(chunk: Record<string, unknown>): void {
    const { choices } = chunk
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    if (isRecord(choice)) {
      const delta = choice['delta'] ?? choice['message']
      if (isRecord(delta)) this.#readDelta(delta)
      const finish = choice['finish_reason']
      if (typeof finish === 'string' && finish !== '') this.facts.finish = finishReasonOf(finish)
    }
    this.#readFacts(chunk, choice)
  }

  /** Ends the answer. Calls that never got a name are started as well, so that the model gets an error for them. */
  end(): FinishReason | undefined {
    for (const slot of this.#calls) if (slot.call === undefined) this.#open(slot, slot.name || 'unnamed_tool')
    return this.#refused && this.facts.finish !== undefined ? 'content_filter' : this.facts.finish
  }

  #readDelta(delta: Record<string, unknown>): void {
    const { content, tool_calls: calls, function_call: legacy } = delta
    const reasoning = delta['reasoning_content'] ?? delta['reasoning']
    if (typeof reasoning === 'string') this.#builder.reasoning(reasoning)
    if (typeof content === 'string') this.#builder.text(content)
    else if (Array.isArray(content)) this.#readParts(content)
    const { refusal } = delta
    if (typeof refusal === 'string' && refusal !== '') {
      this.#refused = true
      this.#builder.text(refusal)
    }
    if (Array.isArray(calls)) calls.forEach((call, at) => void this.#readCall(call, at > 0))
    if (isRecord(legacy)) this.#readCall({ function: legacy }, false)
  }

  #readParts(parts: readonly unknown[]): void {
    for (const part of parts) {
      if (!isRecord(part)) continue
      if (typeof part['text'] === 'string') this.#builder.text(part['text'])
      else if (typeof part['thinking'] === 'string') this.#builder.reasoning(part['thinking'])
      else if (Array.isArray(part['thinking'])) {
        for (const thought of part['thinking']) {
          if (isRecord(thought) && typeof thought['text'] === 'string')
            this.#builder.reasoning(thought['text'])
        }
      }
    }
  }

  #readCall(piece: unknown, notFirst: boolean): void {
    if (!isRecord(piece)) return
    const given = isRecord(piece['function']) ? piece['function'] : piece
    const id = typeof piece['id'] === 'string' ? piece['id'] : ''
    const name = typeof given['name'] === 'string' ? given['name'] : ''
    const input = textOf(given['arguments'])
    const index = typeof piece['index'] === 'number' ? piece['index'] : undefined
    const slot = this.#slotFor({ index, id, name, input }, notFirst)

    if (slot.call === undefined) {
      this.#builder.spend(name.length + input.length)
      slot.name += name
      slot.input += input
      if (slot.name !== '') this.#open(slot, slot.name)
    } else slot.call.append(input)
  }

  #slotFor({ index, id, name, input }: Piece, notFirst: boolean): CallSlot {
    const known =
      index === undefined ? this.#calls.at(-1) : this.#calls.findLast((slot) => slot.index === index)
    if (known !== undefined && !(index === undefined && notFirst)) {
      // Servers that give every call the index 0, or no index, distinguish calls by id or by a repeated name.
      const otherId = id !== '' && known.id !== '' && id !== known.id
      const again = name !== '' && input !== '' && known.call !== undefined && isWhole(known)
      const unmarked = index === undefined && name !== '' && id === '' && known.call !== undefined
      if (!otherId && !again && !unmarked) return known
      if (otherId && name === '') return known
    }
    if (this.#calls.length >= maxSlots) this.#builder.spendCall()
    const slot: CallSlot = { index, id, name: '', input: '', looks: 0 }
    this.#calls.push(slot)
    return slot
  }

  #open(slot: CallSlot, name: string): void {
    slot.call = this.#builder.toolCall(name, slot.id)
    slot.call.append(slot.input)
  }

  #readFacts(chunk: Record<string, unknown>, choice: unknown): void {
    const { facts } = this
    const usage = readUsage(chunk, choice)
    if (usage !== undefined) facts.usage = usage
    if (facts.id === undefined && typeof chunk['id'] === 'string' && chunk['id'] !== '')
      facts.id = chunk['id']
    if (facts.model === undefined && typeof chunk['model'] === 'string' && chunk['model'] !== '') {
      facts.model = chunk['model']
    }
  }
}

type Piece = {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly input: string
}
type CallSlot = {
  readonly index: number | undefined
  readonly id: string
  name: string
  input: string
  call?: OpenToolCall
  /** How often its arguments were checked for completeness. */
  looks: number
}

/** The maximum number of calls that have no name yet; calls are counted when they get a name. */
const maxSlots = 1_000
/**
 * The maximum number of such checks. A server that repeats the name with each piece does so early, and checking long
 * arguments every time would be too slow.
 */
const maxLooks = 100

/** Returns arguments as JSON text; some servers send the object itself. */
function textOf(given: unknown): string {
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : JSON.stringify(given)
}

function isWhole(slot: CallSlot): boolean {
  if (++slot.looks > maxLooks) return false
  const input = slot.call?.input ?? ''
  if (!input.trimEnd().endsWith('}')) return false
  // If it is not JSON, this brace is inside the arguments, not at their end.
  return tryOr(() => JSON.parse(input), undefined) !== undefined
}
