import type { RunLimits } from '../loop/run-parts.js'

/** The options of a session that are limits of its runs. */
export const limitNames = [
  'maxToolRounds',
  'maxParseRetries',
  'circuitBreakerThreshold',
  'duplicateToolCallThreshold',
  'maxExecutionTimeMs',
  'roundTimeoutMs',
  'modelIdleTimeoutMs',
  'llmApiTimeoutMs',
  'maxAnswerChars',
  'maxArgumentChars',
  'maxCallsPerAnswer',
  'maxResponseBytes',
  'maxParallelTasks',
  'continuationEnabled',
  'maxContinuationTurns',
] as const satisfies readonly (keyof RunLimits)[]
