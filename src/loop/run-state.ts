import { setMaxListeners } from 'node:events'
import { defaultAnswerLimits, defaultAttemptTimeoutMs } from '../model/answer-limits.js'
import type { Model, ModelAnswer } from '../model/model.js'
import type { UserMessage } from '../tool/completion.js'
import { RunError } from './errors.js'
import { onAbort } from './on-abort.js'
import { createRepetition, type Repetition } from './repetition.js'
import type { RunLimits, RunParts } from './run-parts.js'
import { addUsage, noUsage, type Usage, usageOf } from './usage.js'

/** The default of every limit that has one. */
export const defaultLimits = {
  maxToolRounds: 50,
  maxParseRetries: 2,
  circuitBreakerThreshold: 3,
  duplicateToolCallThreshold: 3,
  modelIdleTimeoutMs: 120_000,
  maxParallelTasks: 8,
  continuationEnabled: true,
  maxContinuationTurns: 3,
  llmApiTimeoutMs: defaultAttemptTimeoutMs,
  ...defaultAnswerLimits,
} as const satisfies RunLimits

/** The state of a run. */
export type RunState = {
  readonly parts: RunParts
  readonly limits: RunLimits & Required<Pick<RunLimits, keyof typeof defaultLimits>>
  /** Aborted when the run is cancelled or reaches a time limit; the reason says which. */
  readonly signal: AbortSignal
  readonly startedAt: number
  readonly repetition: Repetition
  /** What the user asked for. */
  readonly goal: string
  rounds: number
  toolRounds: number
  toolCallsCount: number
  usage: Usage
  costUsd: number | undefined
  /** The model that gave the last answer. */
  answeredBy?: Model | undefined
  /** The same as `provider/model`, if it is a fallback model. */
  fallbackModel?: string | undefined
  /** The text of the model since its last tool call. */
  text: string
  continuations: number
  malformed: number
}

export type RunClock = {
  readonly signal: AbortSignal
  /** Starts the time limit of a round. */
  round(): void
  /** Stops the time limit of the round. */
  rest(): void
  stop(): void
}

export function beginRun(parts: RunParts, clock: RunClock, prompt: UserMessage | undefined): RunState {
  const limits = { ...defaultLimits, ...parts.limits }
  return {
    parts,
    limits,
    signal: clock.signal,
    startedAt: parts.now(),
    repetition: createRepetition(limits.duplicateToolCallThreshold),
    goal: prompt === undefined ? '' : textOf(prompt),
    rounds: parts.before?.rounds ?? 0,
    toolRounds: parts.before?.toolRounds ?? 0,
    toolCallsCount: parts.before?.toolCallsCount ?? 0,
    usage: parts.before?.usage ?? noUsage,
    costUsd: parts.before?.costUsd,
    text: '',
    continuations: 0,
    malformed: 0,
  }
}

/** Returns the text of a user message, without its images and documents. */
export function textOf({ content }: UserMessage): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** Adds the usage of an answer to the run's, and returns it. */
export function countAnswer(state: RunState, used: ModelAnswer['usage']): Usage {
  const usage = usageOf(used)
  state.usage = addUsage(state.usage, usage)
  return usage
}

/**
 * Starts the time limits of a run and follows the signal of its caller. Each limit has its own timer, and so its own
 * error message.
 */
export function startClock({ signal, limits = {} }: RunParts): RunClock {
  const own = new AbortController()
  // Every call of a round listens to this signal, and many can run at the same time.
  setMaxListeners(0, own.signal)
  const after = (ms: number | undefined, error: () => RunError): ReturnType<typeof setTimeout> | undefined =>
    ms === undefined || ms > maxTimerMs ? undefined : setTimeout(() => own.abort(error()), ms)
  const unfollow = onAbort(signal, () => own.abort(cancellation(signal)))
  const { maxExecutionTimeMs, roundTimeoutMs } = limits
  const whole = after(
    maxExecutionTimeMs,
    () =>
      new RunError(
        'run_timeout',
        `The run took longer than ${maxExecutionTimeMs} ms (maxExecutionTimeMs) and was stopped.`,
      ),
  )
  let round: ReturnType<typeof setTimeout> | undefined
  return {
    signal: own.signal,
    round() {
      clearTimeout(round)
      round = after(
        roundTimeoutMs,
        () =>
          new RunError(
            'round_timeout',
            `One round took longer than ${roundTimeoutMs} ms (roundTimeoutMs), so the run was stopped.`,
          ),
      )
    },
    rest: () => clearTimeout(round),
    stop() {
      clearTimeout(whole)
      clearTimeout(round)
      unfollow()
    },
  }
}

const maxTimerMs = 2 ** 31 - 1

function cancellation({ reason }: AbortSignal): RunError {
  if (reason instanceof RunError) return reason
  const why = reason instanceof Error && reason.name !== 'AbortError' ? `: ${reason.message}` : ''
  return new RunError('cancelled', `The run was cancelled${why}.`, { cause: reason })
}
