import type { Model } from '../../model/model.js'
import type { StoredMessage } from '../../store/session-state.js'
import type { Message } from '../../tool/completion.js'
import type { ToolDefinition } from '../../tool/definition.js'
import type { Envelope } from '../../tool/envelope.js'
import type { ReplayDifference } from './difference.js'
import { type RecordedSource, recordingOf } from './recording.js'
import { stepByStep } from './step-by-step.js'

/** Options of a replay. */
export type ReplayOptions = {
  /** The model that answers: the recording (the default), or a model that is compared with it. Tools are never run. */
  readonly model?: 'recorded' | Model
  /** The user message to start with; earlier messages are used as they were recorded. */
  readonly from?: string
  /** The system prompt for a model other than the recording. */
  readonly instructions?: string
  readonly tools?: readonly ToolDefinition[]
  readonly signal?: AbortSignal
}

/** A step of a replay: each message, and at the end whether everything was the same. */
export type ReplayStep =
  | {
      readonly type: 'message'
      /** The position of the message, from 0. */
      readonly position: number
      readonly messageId: string
      readonly runId?: string
      readonly message: Message
      /** For tool results: the recorded envelope of each. */
      readonly envelopes?: readonly (Envelope | undefined)[]
    }
  | { readonly type: 'difference'; readonly difference: ReplayDifference }
  | { readonly type: 'end'; readonly messages: number }

/**
 * Replays a recorded session offline: in the same loop, with the answers and results of its log. It advances as it is
 * read, and the last step is its end or the first difference. It has no effects and writes nothing. Throws for a source
 * that is not a recording.
 *
 * @example
 * for await (const step of replaySession(state)) if (step.type === 'difference') console.log(step.difference.words)
 */
export function replaySession(
  source: RecordedSource,
  options: ReplayOptions = {},
): AsyncGenerator<ReplayStep, void, undefined> {
  return replayOf(recordingOf(source), options)
}

async function* replayOf(
  recording: readonly StoredMessage[],
  options: ReplayOptions,
): AsyncGenerator<ReplayStep, void, undefined> {
  // The loop is loaded at the first replay: most programs that import this module never make one.
  const { Replay } = await import('./replay.js')
  const replay = new Replay(recording, options)
  yield* stepByStep<ReplayStep>((handOver, signal) => replay.run(handOver, signal), options.signal)
}
