import type { AgentEvent } from '../loop/events.js'
import type { Usage } from '../loop/usage.js'
import type { PendingConfirmation } from '../session/confirmations.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { PendingQuestion } from './questions.js'

/** An event of AG-UI 1.0. */
export type AgUiEvent = { readonly type: string; readonly [field: string]: unknown }

export type OpenInterrupts = {
  readonly idOf: (kind: 'approval' | 'question', id: string) => string
  readonly approvals: readonly PendingConfirmation[]
  readonly questions: readonly PendingQuestion[]
}

export interface AgUiWriter {
  start(): AgUiEvent[]
  write(event: AgentEvent): AgUiEvent[]
  /** Whether calls or questions wait for an answer: none, some, or everything that is active. */
  waiting(): 'none' | 'some' | 'all'
  /** Ends the response with an interrupt for everything that waits. */
  pause(open: OpenInterrupts): AgUiEvent[]
  /** Ends a response whose events stopped before the end of the run. */
  close(): AgUiEvent[]
}

/**
 * Writes the events of one run as those of AG-UI. Every message and call that was started is ended before the run
 * finishes: clients reject a run that leaves one open.
 */
export function createAgUiWriter(
  { threadId, runId }: { readonly threadId: string; readonly runId: string },
  prefix: string,
): AgUiWriter {
  let events: AgUiEvent[] = []
  let isOver = false
  let step: string | undefined
  let texts = 0
  let open: { readonly kind: 'text' | 'reasoning'; readonly messageId: string } | undefined
  /** Calls whose arguments are still being written. */
  const growing = new Set<string>()
  /** Calls that have begun and not ended, and whether they wait for an approval. */
  const calls = new Map<string, boolean>()
  let isAsking = false

  const put = (type: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    events.push({ type, ...fields })
  }
  const closeText = (): void => {
    if (open?.kind === 'text') put('TEXT_MESSAGE_END', { messageId: open.messageId })
    if (open?.kind === 'reasoning') {
      put('REASONING_MESSAGE_END', { messageId: open.messageId })
      put('REASONING_END', { messageId: open.messageId })
    }
    open = undefined
  }
  const say = (kind: 'text' | 'reasoning', delta: string): void => {
    if (delta === '') return
    if (open?.kind !== kind) {
      closeText()
      open = { kind, messageId: `${prefix}-${runId}-${kind}-${++texts}` }
      const { messageId } = open
      if (kind === 'text') put('TEXT_MESSAGE_START', { messageId, role: 'assistant' })
      else {
        put('REASONING_START', { messageId })
        put('REASONING_MESSAGE_START', { messageId, role: 'reasoning' })
      }
    }
    put(kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', {
      messageId: open.messageId,
      delta,
    })
  }
  const endCalls = (): void => {
    for (const toolCallId of growing) put('TOOL_CALL_END', { toolCallId })
    growing.clear()
  }
  const endStep = (): void => {
    closeText()
    endCalls()
    if (step !== undefined) put('STEP_FINISHED', { stepName: step })
    step = undefined
  }
  const finish = (fields: Readonly<Record<string, unknown>>): void => {
    endStep()
    put('RUN_FINISHED', { threadId, runId, ...fields })
    isOver = true
  }

  const take = (event: AgentEvent): void => {
    switch (event.type) {
      case 'turn_start':
        endStep()
        step = `round ${event.turn}`
        put('STEP_STARTED', { stepName: step })
        break
      case 'text_delta':
        say('text', event.text)
        break
      case 'reasoning_delta':
        say('reasoning', event.text)
        break
      case 'turn_end':
        closeText()
        break
      case 'answer_restarted':
        closeText()
        endCalls()
        put('CUSTOM', { name: 'answer_restarted', value: { turn: event.turn, reason: event.reason } })
        break
      case 'tool_start':
        closeText()
        growing.add(event.toolId)
        calls.set(event.toolId, false)
        put('TOOL_CALL_START', { toolCallId: event.toolId, toolCallName: event.toolName })
        break
      case 'tool_input_delta':
        if (growing.has(event.toolId) && event.text !== '')
          put('TOOL_CALL_ARGS', { toolCallId: event.toolId, delta: event.text })
        break
      case 'tool_execution_start':
        closeText()
        if (!calls.has(event.toolId)) {
          calls.set(event.toolId, false)
          put('TOOL_CALL_START', { toolCallId: event.toolId, toolCallName: event.toolName })
          put('TOOL_CALL_ARGS', { toolCallId: event.toolId, delta: event.args })
          put('TOOL_CALL_END', { toolCallId: event.toolId })
        } else if (growing.delete(event.toolId)) put('TOOL_CALL_END', { toolCallId: event.toolId })
        break
      case 'confirmation_required':
        if (growing.delete(event.toolId)) put('TOOL_CALL_END', { toolCallId: event.toolId })
        calls.set(event.toolId, true)
        break
      case 'confirmation_received':
      case 'confirmation_timeout':
        if (calls.has(event.toolId)) calls.set(event.toolId, false)
        break
      case 'user_question':
        isAsking = true
        break
      case 'tool_end':
        closeText()
        if (growing.delete(event.toolId)) put('TOOL_CALL_END', { toolCallId: event.toolId })
        calls.delete(event.toolId)
        put('TOOL_CALL_RESULT', {
          messageId: `${prefix}-${event.toolId}-result`,
          toolCallId: event.toolId,
          content: event.toolOutput,
          role: 'tool',
        })
        break
      case 'task_updated':
        put('STATE_SNAPSHOT', { snapshot: { todos: event.tasks } })
        break
      case 'agent_end': {
        const { text, usage } = event.result
        finish({ result: { text }, outcome: { type: 'success' }, usage: [tokens(usage)] })
        break
      }
      case 'agent_cancelled':
        finish({ outcome: { type: 'cancelled' } })
        break
      case 'error':
        endStep()
        put('RUN_ERROR', { message: event.error, ...omitUndefined({ code: event.code }) })
        isOver = true
        break
    }
  }
  const written = (write: () => void): AgUiEvent[] => {
    events = []
    if (!isOver) write()
    return events
  }

  return {
    start: () => written(() => put('RUN_STARTED', { threadId, runId })),
    write: (event) => written(() => take(event)),
    waiting() {
      if (isOver) return 'none'
      const asked = [...calls.values()].filter(Boolean).length
      if (asked === 0) return isAsking ? 'some' : 'none'
      return asked === calls.size ? 'all' : 'some'
    },
    pause: ({ idOf, approvals, questions }) =>
      written(() => {
        const interrupts = [
          ...approvals.map(({ toolId, toolName, reasons, remainingMs }) => ({
            id: idOf('approval', toolId),
            reason: 'tool_call',
            message: `${toolName}: ${reasons.join('; ')}`,
            toolCallId: toolId,
            responseSchema: approvalSchema,
            ...(remainingMs !== undefined && { expiresAt: new Date(Date.now() + remainingMs).toISOString() }),
          })),
          ...questions.map(({ questionId, questions: asked }) => ({
            id: idOf('question', questionId),
            reason: 'input_required',
            message: asked.map(({ question }) => question).join('\n'),
            responseSchema: answersSchema,
            metadata: { questions: asked },
          })),
        ]
        finish(
          interrupts.length === 0
            ? { outcome: { type: 'success' } }
            : { outcome: { type: 'interrupt', interrupts } },
        )
      }),
    close: () =>
      written(() => {
        endStep()
        put('RUN_ERROR', {
          message: 'The stream ended before the run. Reconnect to continue.',
          code: 'stream_ended',
        })
        isOver = true
      }),
  }
}

const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

const answersSchema = {
  type: 'object',
  properties: { answers: { type: 'array', items: { type: 'array', items: { type: 'string' } } } },
  required: ['answers'],
}

function tokens({ promptTokens, completionTokens, totalTokens }: Usage): Readonly<Record<string, number>> {
  return { inputTokens: promptTokens, outputTokens: completionTokens, totalTokens }
}
