import type { FeatureContext } from '../feature/feature-context.js'
import type { SessionFeature } from '../feature/session-feature.js'

/** The states of the features that a session has used so far. */
export class FeatureStates {
  readonly #states = new Map<SessionFeature, unknown>()

  /** The state of a feature, created with the first use. */
  use<State>(feature: SessionFeature<State>, session: FeatureContext): State {
    if (!this.#states.has(feature)) this.#states.set(feature, feature.create(session))
    return this.#states.get(feature) as State
  }

  /** The state of a feature, if it was used before. */
  peek<State>(feature: SessionFeature<State>): State | undefined {
    return this.#states.get(feature) as State | undefined
  }

  /** Drops the states that nothing was done with. Their next use creates them again. */
  rest(): void {
    for (const [feature, state] of this.#states)
      if (feature.isUnused?.(state) === true) this.#states.delete(feature)
  }

  /**
   * Closes the last state first; one that fails does not keep the others open. States that need no closing can be read
   * afterwards.
   */
  async close(): Promise<void> {
    const errors: unknown[] = []
    const closing = [...this.#states].filter(([{ close }]) => close !== undefined).reverse()
    for (const [feature, state] of closing) {
      try {
        await feature.close?.(state)
      } catch (error) {
        errors.push(error)
      }
    }
    for (const [feature] of closing) this.#states.delete(feature)
    if (errors.length > 0) throw errors[0]
  }
}
