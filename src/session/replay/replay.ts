import type { Conversation } from '../../loop/conversation.js'
import type { Gate } from '../../loop/gate.js'
import type { GateCall } from '../../loop/gate-parts.js'
import { run } from '../../loop/run.js'
import type { RunParts } from '../../loop/run-parts.js'
import type { Model } from '../../model/model.js'
import type { StoredMessage } from '../../store/session-state.js'
import { viewOf } from '../../store/view-of.js'
import type { Message, ToolMessage, ToolResultPart, UserMessage } from '../../tool/completion.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { HistoryError } from '../history/errors.js'
import { differenceAt, type ReplayDifference } from './difference.js'
import { noAnswer, recordedAnswer, recordedFacts } from './recording.js'
import type { ReplayOptions, ReplayStep } from './replay-session.js'
import type { HandOver } from './step-by-step.js'

/** Thrown where the recording of a run ends before the run does: the original run was cancelled or failed there. */
class RecordingOver extends Error {}

class Differs extends Error {
  readonly difference: ReplayDifference

  constructor(difference: ReplayDifference) {
    super(difference.words)
    this.difference = difference
  }
}

/** One replay of a recording. */
export class Replay {
  readonly #recording: readonly StoredMessage[]
  readonly #options: ReplayOptions
  readonly #messages: Message[] = []
  #view: Message[] = []
  #next = 0
  #stopped = false
  #handOver: HandOver<ReplayStep> = async () => undefined

  constructor(recording: readonly StoredMessage[], options: ReplayOptions) {
    this.#recording = recording
    this.#options = options
  }

  async run(handOver: HandOver<ReplayStep>, signal: AbortSignal): Promise<void> {
    this.#seed()
    this.#handOver = handOver
    try {
      for (let entry = this.#ahead(); entry !== undefined; entry = this.#ahead()) {
        await this.#runFrom(entry, signal)
        // If a run used nothing of the recording, repeating it would never make progress.
        if (this.#ahead() === entry)
          throw new Differs({
            position: this.#messages.length,
            messageId: entry.id,
            expected: entry.message,
            words: `Message ${this.#messages.length + 1} (${entry.message.role}) was recorded, and no run gave it.`,
          })
      }
    } catch (error) {
      if (!(error instanceof Differs)) throw error
      await handOver({ type: 'difference', difference: error.difference })
      return
    }
    await handOver({ type: 'end', messages: this.#messages.length })
  }

  /** Uses the messages before the start as they were recorded. */
  #seed(): void {
    const { from } = this.#options
    if (from === undefined) return
    const start = this.#recording.findIndex(({ id }) => id === from)
    if (this.#recording[start]?.message.role !== 'user')
      throw new HistoryError(
        'message_not_found',
        `The recording has no message of the user with the id '${from}' to begin with.`,
      )
    while (this.#next < start) this.#keep()
  }

  async #runFrom(entry: StoredMessage, signal: AbortSignal): Promise<void> {
    const { message } = entry
    if (message.role === 'tool' || message.role === 'system') return this.#tell(entry)
    this.#stopped = false
    try {
      await run(this.#parts(entry, signal), message.role === 'user' ? (message as UserMessage) : undefined)
    } catch (error) {
      if (!(error instanceof RecordingOver)) throw error
    }
  }

  #parts({ row: { runId } }: StoredMessage, signal: AbortSignal): RunParts {
    const { model = 'recorded', instructions, tools = [] } = this.#options
    const chosen = model === 'recorded' ? this.#recordedModel(runId) : model
    return {
      model: () => chosen,
      conversation: this.#conversation(runId),
      instructions: () => instructions,
      tools: () => tools,
      gate: this.#gate(),
      // Only what ended the recorded run ends the replay.
      limits: {
        maxToolRounds: unlimited,
        maxParseRetries: unlimited,
        duplicateToolCallThreshold: unlimited,
        continuationEnabled: false,
      },
      compaction: { auto: false, threshold: 1 },
      takeSteering: () => this.#steering(runId),
      emit: () => undefined,
      signal,
      now: () => 0,
    }
  }

  #recordedModel(runId: string | undefined): Model {
    return {
      provider: 'recorded',
      id: 'replay',
      facts: recordedFacts,
      answer: async (_request, call) => {
        const entry = this.#ahead()
        if (entry === undefined || entry.row.runId !== runId) throw this.#over()
        // The run continued without an answer in between: the model returned an empty one.
        return entry.message.role === 'assistant' ? recordedAnswer(entry, call) : noAnswer
      },
    }
  }

  #conversation(runId: string | undefined): Conversation {
    const replay = this
    return {
      get messages() {
        return replay.#messages
      },
      get view() {
        return replay.#view
      },
      append: (message) => this.#compare(message, runId),
      compact: () => undefined,
      clear: () => undefined,
    }
  }

  async #compare(found: Message, runId: string | undefined): Promise<void> {
    const entry = this.#ahead()
    if (found.role === 'tool' && (entry === undefined || entry.row.runId !== runId)) throw this.#over()
    const expected = entry?.message
    // Results are the recorded ones: only their number can differ.
    const difference =
      found.role === 'tool' && expected?.role === 'tool' && found.content.length === expected.content.length
        ? undefined
        : differenceAt(this.#messages.length, expected, found, entry?.id)
    if (difference !== undefined || entry === undefined) {
      this.#stopped = true
      throw new Differs(
        difference ?? { position: this.#messages.length, words: 'Nothing more was recorded.' },
      )
    }
    await this.#tell(entry)
  }

  /** Answers calls with the recorded results: by id, or for another model by the name of the tool. */
  #gate(): Gate {
    const used = new Set<ToolResultPart>()
    return {
      call: async (request) => {
        request.slot?.leave()
        const part = this.#resultFor(request, used)
        if (part !== undefined) used.add(part)
        const envelope = this.#envelopeOf(part)
        const record = {
          callId: request.toolCallId ?? '',
          toolName: request.name,
          origin: request.origin,
          args: textOf(request),
          endedAt: 'done',
          startedAtMs: 0,
          durationMs: 0,
          envelope,
        } as const
        return { envelope, record }
      },
      takeRefusedAsks: () => [],
      isFresh: true,
    }
  }

  #resultFor({ toolCallId, name }: GateCall, used: ReadonlySet<ToolResultPart>): ToolResultPart | undefined {
    const results = this.#ahead()?.message
    if (results?.role !== 'tool') return undefined
    const { content }: ToolMessage = results
    return (
      content.find((part) => part.id === toolCallId) ??
      content.find((part) => !used.has(part) && part.toolName === name)
    )
  }

  /** Returns the recorded envelope; if the log has none, one created from the result that the model got. */
  #envelopeOf(part: ToolResultPart | undefined): Envelope {
    const entry = this.#ahead()
    if (part === undefined || entry?.message.role !== 'tool') return errorEnvelope('No result was recorded.')
    return entry.envelopes?.[entry.message.content.indexOf(part)] ?? outputEnvelope(part.content)
  }

  /** Returns messages that the user sent during the run, and messages that the loop added as the user. */
  #steering(runId: string | undefined): UserMessage[] {
    const entry = this.#ahead()
    if (this.#stopped || runId === undefined || entry?.row.runId !== runId) return []
    return entry.message.role === 'user' ? [entry.message] : []
  }

  /** Returns the next message, after applying the compactions before it. */
  #ahead(): StoredMessage | undefined {
    while (this.#recording[this.#next]?.row.role === 'compaction') this.#keep()
    return this.#recording[this.#next]
  }

  async #tell(entry: StoredMessage): Promise<void> {
    const { id: messageId, message, row, envelopes } = entry
    const position = this.#messages.length
    this.#keep()
    const run = row.runId === undefined ? {} : { runId: row.runId }
    const results = envelopes === undefined ? {} : { envelopes }
    await this.#handOver({ type: 'message', position, messageId, ...run, message, ...results })
  }

  #keep(): void {
    const entry = this.#recording[this.#next]
    if (entry === undefined) return
    this.#next++
    if (entry.row.role === 'compaction')
      this.#view = viewOf(this.#recording.slice(0, this.#next)).map(({ message }) => message)
    else {
      this.#messages.push(entry.message)
      this.#view.push(entry.message)
    }
  }

  #over(): RecordingOver {
    this.#stopped = true
    return new RecordingOver('the recording of this run ends here')
  }
}

const unlimited = Number.MAX_SAFE_INTEGER

function textOf({ input }: GateCall): string {
  return 'text' in input ? input.text : serializeToolOutput(input.value)
}
