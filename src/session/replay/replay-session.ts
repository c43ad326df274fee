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
  /** Who answers: the recording (the default), or a model that is held against it. Tools are never run either way. */
  readonly model?: 'recorded' | Model
  /** The message of the user to begin with; those before it are taken as they are. */
  readonly from?: string
  /** The instructions of a model other than the recording. */
  readonly instructions?: string
  readonly tools?: readonly ToolDefinition[]
  readonly signal?: AbortSignal
}

/** What a replay gives: every message as it comes, and at the end whether all of it was the same. */
export type ReplayStep =
  | {
      readonly type: 'message'
      /** From 0. */
      readonly position: number
      readonly messageId: string
      readonly runId?: string
      readonly message: Message
      /** For results of tools: the envelope of each, as it was recorded. */
      readonly envelopes?: readonly (Envelope | undefined)[]
    }
  | { readonly type: 'difference'; readonly difference: ReplayDifference }
  | { readonly type: 'end'; readonly messages: number }

/**
 * Runs a recorded session again, offline: through the same loop, with the answers and the results of its own log. It
 * goes step by step as it is read, and the last step is its end or the first difference. Nothing is touched and nothing
 * is written. Throws for a source that is not a recording.
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
  // The loop is loaded with the first replay: most programs that import this never make one.
  const { Replay } = await import('./replay.js')
  const replay = new Replay(recording, options)
  yield* stepByStep<ReplayStep>((handOver, signal) => replay.run(handOver, signal), options.signal)
}
