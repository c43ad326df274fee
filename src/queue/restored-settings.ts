import type { QueueState } from '../store/session-state.js'
import { type Lane, laneNames } from '../tool/lane.js'
import type { QueueConfig } from './config.js'
import type { DeadLetter } from './dead-letters.js'
import { type LaneHandler, laneModes } from './lane.js'
import { savedArgs } from './queue-log.js'

/**
 * The handlers that the host has set in an earlier process. What it configures now takes precedence. A log that others
 * can write may keep calls for workers, and never moves them into this process.
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

/** The dead letters of earlier processes, the oldest first. */
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
