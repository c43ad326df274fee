import { isRecord } from '../tool/json.js'
import { type Lane, laneNames } from '../tool/lane.js'
import { QueueError } from './errors.js'

export const laneModes = ['internal', 'external', 'hybrid'] as const
/**
 * Where the calls of a lane run: in this process, in a worker that polls for tasks, or in this process with a
 * notification to others.
 */
export type LaneMode = (typeof laneModes)[number]

/** The handler of a lane, and its time limit. */
export type LaneHandler = {
  readonly mode: LaneMode
  /** The time limit of a task from its first offer to its result, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number
}

export function readLane(value: unknown): Lane {
  const lane = laneNames.find((name) => name === value)
  if (lane !== undefined) return lane
  throw new QueueError(
    'queue_config',
    `Invalid lane '${String(value)}'. Must be: control, query, execute, or generate`,
  )
}

export function readHandler(value: unknown): LaneHandler {
  if (!isRecord(value))
    throw new QueueError('queue_config', 'The handler of a lane must be an object such as { mode }.')
  const { mode: given = 'internal', timeoutMs } = value
  const mode = laneModes.find((name) => name === given)
  if (mode === undefined)
    throw new QueueError(
      'queue_config',
      `Invalid handler mode '${String(given)}'. Must be: internal, external, or hybrid`,
    )
  if (timeoutMs === undefined || timeoutMs === null) return { mode }
  if (typeof timeoutMs !== 'number' || !Number.isInteger(timeoutMs) || timeoutMs < 1)
    throw new QueueError('queue_config', 'timeoutMs of a lane handler must be a whole number of at least 1.')
  return { mode, timeoutMs }
}
