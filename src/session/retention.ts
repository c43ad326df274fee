import type { RetentionLimits } from './options.js'

/** What a process that is not the host's own keeps of each session: enough to look back, and no leak over days. */
export const retentionCaps = {
  maxRuns: 100,
  maxEventsPerRun: 10_000,
  maxTraceEvents: 10_000,
  maxTerminalSubagentTasks: 1_000,
  maxMessages: 1_000,
} as const satisfies RetentionLimits
