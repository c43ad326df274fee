import type { AgentEvent } from '../loop/events.js'
import { tryOr } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { readToolArgs } from '../tool/repair-json.js'
import { jsonTextOf, serializeToolOutput } from '../tool/serialize.js'
import type { UiMessageChunk } from './ui-message-chunk.js'

export interface UiToolCalls {
  /** Processes the events of calls and of questions about them; ignores other events. */
  take(event: AgentEvent): void
  /** Ends the calls that have no end when the round is over. */
  endAll(): void
  /** Whether calls wait for an approval, and whether all calls that have not ended do. */
  approvals(): 'none' | 'some' | 'all'
  /**
   * Ends the response while calls wait for an approval. Active calls, and calls that wait for active ones, get a
   * provisional output, which their result replaces later: a front end sends the answers only when no other call of the
   * step is open.
   */
  pause(): void
  /** Treats calls that are not known here as shown by an earlier response. */
  assumeShown(): void
  /** Marks the approvals that calls wait for as answered; a call that asks again waits again. */
  assumeAnswered(): void
}

/** Writes the calls of one round for a front end: started, complete, waiting for approval, ended. */
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
        // A call whose start was not seen cannot be streamed; it is shown when it is complete.
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
        // A call that another call makes has no other events: only its question can be shown.
        if (known === undefined) call.outside = !unknownAreShown
        call.asked = true
        // The question has the arguments that will be used, which may differ from what the model wrote.
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
        // After a timeout, the text about the time limit is more useful than a refusal.
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
  /** Whether the front end got the start of the call. */
  readonly growing: boolean
  /** The text that the model has written so far. */
  written: string
  /** The input that the front end has, as JSON; undefined while it is incomplete. */
  shown: string | undefined
  outside: boolean
  /** Whether the call waits for an approval. */
  asked: boolean
  refused: boolean
}

/** Parses arguments like the gate; undefined when they are invalid. */
function argumentsOf(text: string): { readonly input: unknown } | undefined {
  return tryOr(() => ({ input: readToolArgs(text).value }), undefined)
}

/** Converts arguments that JSON cannot represent to text. */
function plainData(args: unknown): unknown {
  return jsonTextOf(args) === undefined ? serializeToolOutput(args) : args
}
