import { createHash } from 'node:crypto'
import { isToolResultContentArray } from '../tool/content.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { RunError } from './errors.js'

export interface Repetition {
  /**
   * Counts a call and its result. When the same call returns the same result several times, a warning for the model
   * is added; a new result counts as progress. Throws when the model continues regardless and none of its other calls
   * has a new result either: a model that fixes something between two checks with the same failure makes progress.
   */
  note(name: string, input: string, envelope: Envelope): Envelope
}

/** Allows `threshold` equal calls; then the model is warned, and after `threshold` more calls the run is stopped. */
export function createRepetition(threshold: number): Repetition {
  if (threshold === Number.POSITIVE_INFINITY) return { note: (_name, _input, envelope) => envelope }
  const seen = new Map<string, Seen>()
  let news = 0
  return {
    note(name, input, envelope) {
      const key = brief(`${name}\0${input}`)
      const result = brief(
        envelope.type === 'error' ? envelope.error_text : serializeToolOutput(envelope.data),
      )
      const known = seen.get(key)
      const isSame = known?.result === result
      if (!isSame) news++
      const times = isSame ? known.times + 1 : 1
      const inVain = isSame && known.news === news ? known.inVain + 1 : 1
      // Insert again at the end, so that the oldest entry is removed first.
      seen.delete(key)
      seen.set(key, { result, times, inVain, news })
      if (seen.size > maxRemembered) seen.delete(seen.keys().next().value ?? '')
      if (times <= threshold) return envelope
      if (inVain > threshold * 2)
        throw new RunError(
          'repeated_calls',
          `The model made the same call of "${name}" ${times} times with the same result and was stopped. Raise duplicateToolCallThreshold (${threshold}) if that is intended.`,
        )
      return withWarning(envelope, name, times)
    },
  }
}

/** `inVain` counts repeats of this call since any call had a new result; `news` is the count of new results by then. */
type Seen = {
  readonly result: string
  readonly times: number
  readonly inVain: number
  readonly news: number
}

const maxRemembered = 256

/** Replaces long texts by their digest, so that hundreds of whole outputs need not stay in memory. */
function brief(text: string): string {
  return text.length <= maxPlainLength ? text : createHash('sha256').update(text).digest('base64')
}

const maxPlainLength = 256

function withWarning(envelope: Envelope, name: string, times: number): Envelope {
  const warning = `You have made this same call of "${name}" ${times} times, and the result was the same each time. Do something else, or say what keeps you from continuing.`
  if (envelope.type === 'error') return errorEnvelope(`${envelope.error_text}\n${warning}`, envelope.metadata)
  const { data, metadata } = envelope
  // Keep images as content blocks: as text they would fill the context.
  return isToolResultContentArray(data)
    ? outputEnvelope([...data, { type: 'text', text: `[${warning}]` }], metadata)
    : outputEnvelope(`${serializeToolOutput(data)}\n[${warning}]`, metadata)
}
