import type { RetentionLimits } from './options.js'

/**
 * The history limits for each session in a process that is not the host's own: enough to look back, without a leak over
 * days.
 */
export const retentionCaps = {
  maxRuns: 100,
  maxEventsPerRun: 10_000,
  maxTraceEvents: 10_000,
  maxTerminalSubagentTasks: 1_000,
  maxMessages: 1_000,
} as const satisfies RetentionLimits
