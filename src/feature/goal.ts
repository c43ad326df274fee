import type { Model } from '../model/model.js'
import type { VerificationCommand } from '../store/verification.js'

/** A state that a run works towards: it ends when the check says that it is reached, or at a limit. */
export type Goal = {
  /** What must be true in the end, for the model that works and for the one that judges. 1 to 4,000 characters. */
  readonly description: string
  /**
   * Who decides: commands that must all succeed, or a judge, which is a model that reads the goal and the end of the
   * conversation. Default: a judge, the model of the session. Commands run with the permissions of the model: rules
   * apply to them, and the user is asked where rules say so.
   */
  readonly check?: readonly (string | VerificationCommand)[] | { readonly judge: true | string | Model }
  /** The maximum number of rounds of the model. Default: 200. */
  readonly maxRounds?: number
  /** The maximum time in milliseconds, looked at after each round. Default: one hour. */
  readonly maxTimeMs?: number
  /** The maximum cost in US dollars, checked after each round. Needs models with known prices. Default: none. */
  readonly maxCostUsd?: number
}
