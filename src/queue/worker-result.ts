import { isToolResultContentArray } from '../tool/content.js'
import { type Envelope, outputEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { copyJson } from '../tool/json-text.js'
import { jsonTextOf, serializeToolOutput } from '../tool/serialize.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import type { Completion } from './engine.js'
import { QueueError } from './errors.js'

const maxErrorLength = 4_000

/** Reads the result of a task; throws when it is not one. */
export function readCompletion(given: unknown): Completion {
  if (!isRecord(given) || typeof given['success'] !== 'boolean')
    throw new QueueError(
      'queue_config',
      'The completion of a task must be an object with success: true or false.',
    )
  const { success, result, error } = given
  if (result !== undefined && jsonTextOf(result) === undefined)
    throw new QueueError('queue_config', 'The result of a task must be a JSON value.')
  return {
    success,
    ...(result !== undefined && { result: copyJson(result).value }),
    ...(typeof error === 'string' && { error: visibleLine(error, maxErrorLength) }),
  }
}

/**
 * What a worker gave, as the output of the tool. It is data from outside: of what it says about itself only the exit
 * code is believed, and text is shown as a person would see it. The gate bounds it like every output.
 */
export function workerEnvelope(result: unknown): Envelope {
  const whole = isRecord(result) && typeof result['output'] === 'string'
  const { exit_code: exitCode } = whole ? result : {}
  const metadata = {
    untrusted: true,
    ran_on: 'worker',
    ...(typeof exitCode === 'number' && Number.isInteger(exitCode) && { exit_code: exitCode }),
  }
  const data = visible(whole ? result['output'] : (result ?? ''))
  // Data that looks like pictures and texts for a model would be shown as such, and bounded as such.
  return outputEnvelope(
    isToolResultContentArray(data) ? serializeToolOutput({ result: data }) : data,
    metadata,
  )
}

function visible(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value)
  if (Array.isArray(value)) return value.map(visible)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [visibleText(key), visible(one)]))
}
