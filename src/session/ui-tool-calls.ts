import type { AgentEvent } from '../loop/events.js'
import { tryOr } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { readToolArgs } from '../tool/repair-json.js'
import { jsonTextOf, serializeToolOutput } from '../tool/serialize.js'
import type { UiMessageChunk } from './ui-message-chunk.js'

export interface UiToolCalls {
  /** Takes the events of calls and of questions about them; the others are none of its business. */
  take(event: AgentEvent): void
  /** The round is over: calls that still have no end get one. */
  endAll(): void
  /** Whether calls wait for an approval, and whether these are all calls that have not ended. */
  approvals(): 'none' | 'some' | 'all'
  /**
   * The response ends while calls wait for an approval. Active calls, and calls that wait for active ones, get a
   * provisional output, which their result replaces later: a front end sends the answers only when no other call of the
   * step is open.
   */
  pause(): void
  /** Calls that are not known here were shown by an earlier response. */
  assumeShown(): void
  /** The approvals that calls wait for have been given; a call that asks again waits again. */
  assumeAnswered(): void
}

/** The calls of one round as a front end sees them: begun, whole, asked about, ended. */
export function createUiToolCalls(put: (chunk: UiMessageChunk) => void): UiToolCalls {
  const calls = new Map<string, UiCall>()
  let unknownAreShown = false

  const begin = (toolCallId: string, toolName: string, growing = false): UiCall => {
    const shown = unknownAreShown && !growing ? 'by an earlier response' : undefined
    const call: UiCall = {
      toolName,
      growing,
      written: '',
      shown,
      outside: false,
      asked: false,
      refused: false,
    }
    calls.set(toolCallId, call)
    return call
  }
  const show = (toolCallId: string, call: UiCall, input: unknown): void => {
    const shown = jsonTextOf(input)
    if (shown === call.shown) return
    call.shown = shown
    put({ type: 'tool-input-available', toolCallId, toolName: call.toolName, input, dynamic: true })
  }
  const end = (toolCallId: string, call: UiCall, output: string, isError: boolean): void => {
    calls.delete(toolCallId)
    if (isError && call.shown === undefined)
      put({
        type: 'tool-input-error',
        toolCallId,
        toolName: call.toolName,
        input: argumentsOf(call.written)?.input ?? call.written,
        errorText: output,
        dynamic: true,
      })
    else if (isError && call.refused) put({ type: 'tool-output-denied', toolCallId })
    else if (isError) put({ type: 'tool-output-error', toolCallId, errorText: output, dynamic: true })
    else {
      if (call.shown === undefined) show(toolCallId, call, call.written)
      put({ type: 'tool-output-available', toolCallId, output, dynamic: true })
    }
  }

  const take = (event: AgentEvent): void => {
    switch (event.type) {
      case 'tool_start':
        begin(event.toolId, event.toolName, true)
        put({ type: 'tool-input-start', toolCallId: event.toolId, toolName: event.toolName, dynamic: true })
        return
      case 'tool_input_delta': {
        const call = calls.get(event.toolId)
        // Whose beginning was not seen cannot be shown growing; it is shown when it is whole.
        if (call === undefined || !call.growing || call.shown !== undefined) return
        call.written += event.text
        put({ type: 'tool-input-delta', toolCallId: event.toolId, inputTextDelta: event.text })
        return
      }
      case 'tool_execution_start': {
        const call = calls.get(event.toolId) ?? begin(event.toolId, event.toolName)
        call.written = event.args
        const read = argumentsOf(event.args)
        if (read !== undefined) show(event.toolId, call, read.input)
        return
      }
      case 'confirmation_required': {
        const known = calls.get(event.toolId)
        const call = known ?? begin(event.toolId, event.toolName)
        // A call that another makes inside has no events of its own: its question is all there is to see of it.
        if (known === undefined) call.outside = !unknownAreShown
        call.asked = true
        // What is asked about is what will run, and need not be what the model wrote.
        show(event.toolId, call, plainData(event.args))
        put({
          type: 'data-approval',
          id: event.toolId,
          data: {
            toolCallId: event.toolId,
            toolName: event.toolName,
            reasons: event.reasons,
            ...omitUndefined({ timeoutMs: event.timeoutMs }),
          },
        })
        put({ type: 'tool-approval-request', approvalId: event.toolId, toolCallId: event.toolId })
        return
      }
      case 'confirmation_received':
      case 'confirmation_timeout': {
        const call = calls.get(event.toolId)
        if (call === undefined) return
        call.asked = false
        const timedOut = event.type === 'confirmation_timeout'
        const yes = timedOut ? event.actionTaken === 'auto_approved' : event.approved
        // When there was no answer, the text of the time limit says more than a refusal.
        call.refused = !yes && !timedOut
        if (call.outside)
          end(event.toolId, call, yes ? 'Approved.' : 'The call was not confirmed in time.', !yes)
        return
      }
      case 'tool_end':
        end(
          event.toolId,
          calls.get(event.toolId) ?? begin(event.toolId, event.toolName),
          event.toolOutput,
          event.isError,
        )
    }
  }

  return {
    take,
    approvals() {
      const asked = [...calls.values()].filter((call) => call.asked)
      return asked.length === 0 ? 'none' : asked.length === calls.size ? 'all' : 'some'
    },
    pause() {
      for (const [toolCallId, call] of calls) {
        if (call.asked) continue
        if (call.shown === undefined) show(toolCallId, call, argumentsOf(call.written)?.input ?? call.written)
        put({ type: 'tool-output-available', toolCallId, output: 'In progress.', dynamic: true })
      }
    },
    assumeShown() {
      unknownAreShown = true
    },
    assumeAnswered() {
      for (const call of calls.values()) call.asked = false
    },
    endAll() {
      for (const [toolCallId, call] of calls) end(toolCallId, call, 'The call did not come to an end.', true)
    },
  }
}

type UiCall = {
  readonly toolName: string
  /** The front end got its start. */
  readonly growing: boolean
  /** What the model has written so far. */
  written: string
  /** The input that the front end has, as JSON; undefined while it is not whole. */
  shown: string | undefined
  outside: boolean
  /** It waits for an approval. */
  asked: boolean
  refused: boolean
}

/** Read as the gate reads them; undefined when they cannot be. */
function argumentsOf(text: string): { readonly input: unknown } | undefined {
  return tryOr(() => ({ input: readToolArgs(text).value }), undefined)
}

/** Arguments may hold what JSON cannot say. */
function plainData(args: unknown): unknown {
  return jsonTextOf(args) === undefined ? serializeToolOutput(args) : args
}
