import type { Model } from '../model/model.js'
import { optionsToKeep } from './journal/restore.js'
import type { SessionKernel } from './kernel.js'

/** The model of a session and its fallbacks, resolved at the first use. */
export class SessionModels {
  readonly #kernel: SessionKernel
  #current: Model | undefined

  constructor(kernel: SessionKernel) {
    this.#kernel = kernel
  }

  current(): Model {
    this.#current ??= this.#resolve(this.#kernel.options.model)
    return this.#current
  }

  /** Returns the models that are used when the current one cannot answer. */
  fallbacks(): readonly Model[] {
    const current = this.current()
    const given = this.#kernel.options.fallbackModels ?? []
    return given.map((model) => this.#resolve(model)).filter((model) => model !== current)
  }

  async set(model: string | Model): Promise<void> {
    this.#current = this.#resolve(model)
    const { provider, id } = this.#current
    await this.#kernel.log.recorder?.session({
      model: { provider, id },
      options: optionsToKeep({ ...this.#kernel.options, model }),
    })
  }

  #resolve(model: string | Model | undefined): Model {
    return typeof model === 'object' ? model : this.#kernel.setup.resolveModel(model)
  }
}
