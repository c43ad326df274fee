import type { ModelToolCall } from '../model/model.js'
import type { Usage } from './usage.js'

/** The state of a run after a round. */
export type RunProgress = {
  readonly rounds: number
  readonly toolCallsCount: number
  readonly usage: Usage
  /** The answer of the model in this round. */
  readonly text: string
  /** The tool calls of this round. */
  readonly calls: readonly ModelToolCall[]
  readonly elapsedMs: number
}

/** Called after every round with tool calls. Returning true ends the run with its result so far. */
export type StopCondition = (progress: RunProgress) => boolean | Promise<boolean>

/** Stops a run after this many rounds. */
export function stopAfterRounds(rounds: number): StopCondition {
  return (progress) => progress.rounds >= rounds
}

/** Stops a run after the model has called this tool. */
export function stopAfterTool(name: string): StopCondition {
  return ({ calls }) => calls.some((call) => call.name === name)
}

/** Stops a run when it has used this many tokens. */
export function stopAfterTokens(tokens: number): StopCondition {
  return ({ usage }) => usage.totalTokens >= tokens
}

/** Stops a run when all conditions hold. */
export function stopWhenAll(...conditions: readonly StopCondition[]): StopCondition {
  return async (progress) => {
    for (const condition of conditions) if (!(await condition(progress))) return false
    return true
  }
}

/** Stops a run when at least one condition holds. */
export function stopWhenAny(...conditions: readonly StopCondition[]): StopCondition {
  return async (progress) => {
    for (const condition of conditions) if (await condition(progress)) return true
    return false
  }
}
