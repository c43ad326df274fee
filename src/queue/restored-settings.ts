import type { QueueState } from '../store/session-state.js'
import { type Lane, laneNames } from '../tool/lane.js'
import type { QueueConfig } from './config.js'
import type { DeadLetter } from './dead-letters.js'
import { type LaneHandler, laneModes } from './lane.js'
import { savedArgs } from './queue-log.js'

/**
 * Returns the lane handlers that the host set in an earlier process. The current configuration takes precedence. A
 * log that others can write to can only keep calls for workers; it never moves them into this process.
 */
export function restoredHandlers(
  { handlers }: QueueState,
  { laneHandlers = {} }: QueueConfig,
  trustStore: boolean,
): [Lane, LaneHandler][] {
  return laneNames.flatMap((lane): [Lane, LaneHandler][] => {
    const { mode: saved, timeoutMs } = handlers.get(lane) ?? {}
    const mode = laneModes.find((name) => name === saved)
    if (mode === undefined || laneHandlers[lane] !== undefined) return []
    if (mode !== 'external' && !trustStore) return []
    const isTime = timeoutMs !== undefined && Number.isInteger(timeoutMs) && timeoutMs >= 1
    return [[lane, isTime ? { mode, timeoutMs } : { mode }]]
  })
}

/** Returns the dead letters of earlier processes, oldest first. */
export function restoredLetters({ letters }: QueueState): DeadLetter[] {
  return [...letters.values()].flatMap((note) => {
    const { commandId, toolName, args, error = '', attempts = 1, failedAtMs = 0, mayHaveRun = true } = note
    const lane = laneNames.find((name) => name === note.lane)
    if (lane === undefined || toolName === undefined) return []
    return [
      {
        commandId,
        commandType: toolName,
        lane,
        payload: savedArgs(args),
        error,
        attempts,
        failedAt: failedAtMs,
        mayHaveRun,
        fromLog: true,
      },
    ]
  })
}
