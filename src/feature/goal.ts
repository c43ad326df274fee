import type { Model } from '../model/model.js'
import type { VerificationCommand } from '../store/verification.js'

/** A state that a run works towards: the run ends when its check succeeds, or at a limit. */
export type Goal = {
  /** What must be true at the end, for the working model and for the judge. 1 to 4,000 characters. */
  readonly description: string
  /**
   * How the goal is checked: by commands that must all succeed, or by a judge, which is a model that reads the goal and
   * the end of the conversation. Default: a judge with the model of the session. Commands run with the permissions of
   * the model: rules apply to them, and the user is asked if the rules require it.
   */
  readonly check?: readonly (string | VerificationCommand)[] | { readonly judge: true | string | Model }
  /** The maximum number of rounds of the model. Default: 200. */
  readonly maxRounds?: number
  /** The maximum time in milliseconds, checked after each round. Default: one hour. */
  readonly maxTimeMs?: number
  /** The maximum cost in US dollars, checked after each round. Needs models with known prices. Default: none. */
  readonly maxCostUsd?: number
}
