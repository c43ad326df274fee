import { isToolResultContentArray } from '../tool/content.js'
import { type Envelope, outputEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { copyJson } from '../tool/json-text.js'
import { jsonTextOf, serializeToolOutput } from '../tool/serialize.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import type { Completion } from './engine.js'
import { QueueError } from './errors.js'

const maxErrorLength = 4_000

/** Reads the result of a task; throws if it is invalid. */
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
 * Converts a worker's result to the output of the tool. It is untrusted data: of its metadata only the exit code is
 * used, and text is shown as a user would see it. The gate limits its size like that of every output.
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
  // Data in the shape of message content would be shown to the model as images and text, with other size limits.
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
