import type { AgentEvent, RunSummary } from '../loop/events.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { UiDataChunk, UiFinishReason, UiMessageChunk } from './ui-message-chunk.js'
import type { ShownEvent } from './ui-prompt-event.js'
import { createUiToolCalls } from './ui-tool-calls.js'

/** Options of a stream of UI message chunks. */
export type UiMessageOptions = {
  /** The id of the message. Default: the run's id. */
  readonly messageId?: string
  /** Whether the front end gets the model's reasoning. Default: true. */
  readonly sendReasoning?: boolean
  /**
   * Returns the text of an error for the user of the front end. Default: errors of Capstan are shown with their
   * message, and other errors without details, because their texts are not written for this reader.
   */
  readonly describeError?: (event: { readonly error: string; readonly code?: string }) => string
  /**
   * Ends the message when calls wait for an approval, instead of waiting for the answer: the next request has the
   * answer, and continues the message from `session.watch(runId, { from })`. `readUiApprovals` reads both from the
   * messages of that request.
   */
  readonly endAtApproval?: boolean
}

export interface UiMessageWriter {
  /** Returns the chunks of one event, in order. */
  write(event: ShownEvent): UiMessageChunk[]
  /**
   * Continues a message whose chunks for these events the front end already has. Calls that waited for an approval no
   * longer wait: the request that continues the message has the answers.
   */
  continueAfter(events: readonly ShownEvent[]): void
  /** Whether calls wait for an approval, and whether all calls that have not ended do. */
  approvals(): 'none' | 'some' | 'all'
  /**
   * Returns the chunks that end the response while calls wait for an approval. `sequence` is that of the last event.
   */
  pause(sequence: number): UiMessageChunk[]
  /** Returns the chunks that close open parts when no more events come. Returns none after an end. */
  close(): UiMessageChunk[]
  /** Returns the chunks that close open parts after the source of events failed. */
  fail(): UiMessageChunk[]
}

/**
 * Creates a writer that turns the events of one run into one message: a step for each round, with its texts and its
 * calls. Every part that is started is also ended, and no part is ended that was not started, wherever in the run the
 * first event is: front ends reject other streams. The same events produce the same ids.
 */
export function createUiMessageWriter(options: UiMessageOptions = {}): UiMessageWriter {
  const { messageId, sendReasoning = true, describeError = plainError } = options
  let chunks: UiMessageChunk[] = []
  const put = (chunk: UiMessageChunk): void => {
    chunks.push(chunk)
  }
  let phase: 'new' | 'started' | 'step' | 'over' = 'new'
  let round = 0
  let texts = 0
  let runId: string | undefined
  /** Whether this response has begun. */
  let begun = false
  /** Whether an earlier response began the current step. */
  let inherited = false
  let open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined

  const start = (id = messageId): void => {
    if (begun) return
    put({ type: 'start', ...omitUndefined({ messageId: id }) })
    begun = true
    if (phase === 'new') phase = 'started'
  }
  const beginStep = (): void => {
    start()
    if (phase === 'step') return
    put({ type: 'start-step' })
    phase = 'step'
  }
  const closeText = (): void => {
    if (open !== undefined) put({ type: `${open.kind}-end`, id: open.id })
    open = undefined
  }
  const endStep = (): void => {
    closeText()
    tools.endAll()
    if (phase !== 'step') return
    if (!inherited) put({ type: 'finish-step' })
    inherited = false
    phase = 'started'
  }
  const say = (kind: 'text' | 'reasoning', delta: string): void => {
    beginStep()
    if (open?.kind !== kind) {
      closeText()
      open = { kind, id: `${kind}-${round}-${++texts}` }
      put({ type: `${kind}-start`, id: open.id })
    }
    put({ type: `${kind}-delta`, id: open.id, delta })
  }
  const end = (...last: readonly UiMessageChunk[]): void => {
    start()
    endStep()
    chunks.push(...last)
    phase = 'over'
  }
  const fail = (errorText: string): void =>
    end({ type: 'error', errorText }, { type: 'finish', finishReason: 'error' })
  const tools = createUiToolCalls((chunk) => {
    beginStep()
    closeText()
    put(chunk)
  })

  const take = (event: ShownEvent): void => {
    if (event.type === 'final') {
      end({ type: 'finish', finishReason: 'stop' })
      return
    }
    const data = dataOf(event)
    if (data !== undefined) {
      start()
      put(data)
      return
    }
    switch (event.type) {
      case 'agent_start':
        runId = event.runId
        start(messageId ?? event.runId)
        break
      case 'turn_start':
        endStep()
        round = event.turn
        texts = 0
        beginStep()
        break
      case 'turn_end':
        closeText()
        break
      case 'answer_restarted':
        // Ends the started parts; a front end that stores them clears the parts of this step.
        closeText()
        tools.endAll()
        put({ type: 'data-restarted', data: { round: event.turn, reason: event.reason } })
        break
      case 'text_delta':
        say('text', event.text)
        break
      case 'reasoning_delta':
        if (sendReasoning) say('reasoning', event.text)
        break
      case 'agent_end':
        end({ type: 'finish', finishReason: finishReasonOf(event.result.finish) })
        break
      case 'agent_cancelled':
        end({ type: 'abort', reason: event.reason })
        break
      case 'error':
        fail(describeError(event))
        break
      default:
        tools.take(event)
    }
  }
  const written = (write: () => void): UiMessageChunk[] => {
    chunks = []
    if (phase !== 'over') write()
    return chunks
  }

  return {
    write: (event) => written(() => take(event)),
    continueAfter(events) {
      for (const event of events) written(() => take(event))
      begun = false
      // The current step is open in the front end, whether or not its start is known here.
      if (phase !== 'over') phase = 'step'
      inherited = true
      tools.assumeAnswered()
      if (events.length === 0) tools.assumeShown()
    },
    approvals: () => (phase === 'over' ? 'none' : tools.approvals()),
    pause: (sequence) =>
      written(() => {
        start()
        closeText()
        tools.pause()
        put({ type: 'data-paused', id: 'paused', data: { ...omitUndefined({ runId }), sequence } })
        if (phase === 'step' && !inherited) put({ type: 'finish-step' })
        put({ type: 'finish', finishReason: 'tool-calls' })
        phase = 'over'
      }),
    close: () =>
      written(() => {
        if (phase !== 'new') endStep()
        phase = 'over'
      }),
    fail: () => written(() => fail(unexpected)),
  }
}

const unexpected = 'Something went wrong while the answer was written.'

function plainError({ error, code }: { readonly error: string; readonly code?: string }): string {
  return code === undefined ? unexpected : error
}

/**
 * Returns what is shown in addition to texts and calls. The plan has an id, so that the newest replaces the one before.
 */
function dataOf(event: AgentEvent): UiDataChunk | undefined {
  switch (event.type) {
    case 'task_updated':
      return { type: 'data-plan', id: 'plan', data: { todos: event.tasks } }
    case 'user_question':
      return { type: 'data-question', data: { questions: event.questions }, transient: true }
    case 'tool_output_delta': {
      const { toolId: toolCallId, toolName, text } = event
      return { type: 'data-tool-output', data: { toolCallId, toolName, text }, transient: true }
    }
    case 'events_missed':
      return { type: 'data-missed', data: { count: event.count }, transient: true }
    default:
      return undefined
  }
}

function finishReasonOf(finish: RunSummary['finish']): UiFinishReason {
  switch (finish) {
    case 'command':
      return 'stop'
    case 'content_filter':
      return 'content-filter'
    // A stop condition is checked after the calls of a round.
    case 'tool_calls':
    case 'stop_condition':
      return 'tool-calls'
    default:
      return finish
  }
}
