import { lowerHistory } from '../../model/lower-history.js'
import type { Model, ModelFacts } from '../../model/model.js'
import type { StoredMessage } from '../../store/session-state.js'
import { viewOf } from '../../store/view-of.js'
import type { Message } from '../../tool/completion.js'
import { differenceAt, type ReplayDifference, ReplayError } from './difference.js'
import { noAnswer, type RecordedSource, recordedAnswer, recordedFacts, recordingOf } from './recording.js'

/** Options of {@link recordedModel}. */
export type RecordedModelOptions = {
  /** `false`: answers in order without comparing the requests. */
  readonly check?: boolean
  readonly facts?: Partial<ModelFacts>
}

/**
 * Creates a model that answers with the recorded answers, in order. A request that differs from the recorded one, also
 * because a tool returned another result, rejects with a {@link ReplayError} that names the first difference.
 *
 * @example
 * const state = foldSession((await store.read(id))?.records ?? [])
 * const session = agent.session('.', { model: recordedModel(state) })
 */
export function recordedModel(source: RecordedSource, options: RecordedModelOptions = {}): Model {
  const recording = recordingOf(source)
  const check = options.check ?? true
  let next = 0
  let before: readonly Message[] = []
  return {
    provider: 'recorded',
    id: 'replay',
    facts: { ...recordedFacts, ...options.facts },
    async answer({ chatHistory }, call) {
      call.signal.throwIfAborted()
      const at = recording.findIndex(({ message }, index) => index >= next && message.role === 'assistant')
      const silent = check ? silentAt(recording, next, at, chatHistory) : undefined
      if (silent !== undefined) {
        next = silent
        return noAnswer
      }
      const entry = recording[at]
      const end = at < 0 ? recording.length : at
      if (check) {
        const different = firstOf(expectedBefore(recording, end), chatHistory, before)
        if (different !== undefined) throw new ReplayError(different)
      }
      if (entry === undefined)
        throw new ReplayError({
          position: chatHistory.length,
          words: `The recording has no more answers, and one was asked for after message ${chatHistory.length}.`,
        })
      before = [...chatHistory]
      next = at + 1
      return recordedAnswer(entry, call)
    },
  }
}

function expectedBefore(recording: readonly StoredMessage[], end: number): readonly Message[] {
  return lowerHistory(viewOf(recording.slice(0, end)).map(({ message }) => message))
}

/**
 * Finds an empty answer, which left no message: the next recorded message is the user's, and the request has everything
 * before it.
 */
function silentAt(
  recording: readonly StoredMessage[],
  from: number,
  to: number,
  asked: readonly Message[],
): number | undefined {
  for (let at = from; at < (to < 0 ? recording.length : to); at++) {
    const isAfterUser = recording[at - 1]?.message.role !== 'assistant'
    if (at === 0 || recording[at]?.message.role !== 'user' || !isAfterUser) continue
    if (firstOf(expectedBefore(recording, at), asked, []) === undefined) return at
  }
  return undefined
}

/** Returns the first difference. `known` was compared before; messages do not change. */
function firstOf(
  expected: readonly Message[],
  found: readonly Message[],
  known: readonly Message[],
): ReplayDifference | undefined {
  for (let at = 0; at < Math.max(expected.length, found.length); at++) {
    if (found[at] !== undefined && found[at] === known[at]) continue
    const different = differenceAt(at, expected[at], found[at])
    if (different !== undefined) return different
  }
  return undefined
}
