import type { FeatureContext } from '../feature/feature-context.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { attemptAll } from './attempt-all.js'

/** The states of the features that a session has used so far. */
export class FeatureStates {
  readonly #states = new Map<SessionFeature, unknown>()

  /** Returns the state of a feature, created at the first use. */
  use<State>(feature: SessionFeature<State>, session: FeatureContext): State {
    if (!this.#states.has(feature)) this.#states.set(feature, feature.create(session))
    return this.#states.get(feature) as State
  }

  /** Returns the state of a feature, if it was used before. */
  peek<State>(feature: SessionFeature<State>): State | undefined {
    return this.#states.get(feature) as State | undefined
  }

  /** Drops unused states. Their next use creates them again. */
  rest(): void {
    for (const [feature, state] of this.#states)
      if (feature.isUnused?.(state) === true) this.#states.delete(feature)
  }

  /**
   * Closes the states, the last one first; an error of one does not leave the others open. States without a `close` can
   * be read afterwards.
   */
  async close(): Promise<void> {
    const closing = [...this.#states].filter(([{ close }]) => close !== undefined).reverse()
    await attemptAll([
      ...closing.map(
        ([feature, state]) =>
          () =>
            feature.close?.(state),
      ),
      () => {
        for (const [feature] of closing) this.#states.delete(feature)
      },
    ])
  }
}
