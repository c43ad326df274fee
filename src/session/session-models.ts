import type { Model } from '../model/model.js'
import { optionsToKeep } from './journal/restore.js'
import type { SessionRecorder } from './journal/session-recorder.js'
import type { SessionSetup } from './setup.js'

/** The model of a session and its fallbacks, resolved with the first use. */
export class SessionModels {
  readonly #setup: SessionSetup
  #current: Model | undefined

  constructor(setup: SessionSetup) {
    this.#setup = setup
  }

  current(): Model {
    const { options } = this.#setup
    this.#current ??= this.#resolve(options.model)
    return this.#current
  }

  /** The models that are asked when the current one cannot answer. */
  fallbacks(): readonly Model[] {
    const current = this.current()
    const given = this.#setup.options.fallbackModels ?? []
    return given.map((model) => this.#resolve(model)).filter((model) => model !== current)
  }

  async set(model: string | Model, recorder: SessionRecorder | undefined): Promise<void> {
    this.#current = this.#resolve(model)
    const { provider, id } = this.#current
    await recorder?.session({
      model: { provider, id },
      options: optionsToKeep({ ...this.#setup.options, model }),
    })
  }

  #resolve(model: string | Model | undefined): Model {
    return typeof model === 'object' ? model : this.#setup.resolveModel(model)
  }
}
