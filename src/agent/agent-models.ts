import type { Model } from '../model/model.js'
import { offlineModel } from '../model/offline/offline-model.js'
import { createModel } from '../model/provider.js'
import { checkPrice } from '../model/usage.js'
import { type AgentConfig, resolveModel } from './config/index.js'

/** The models of a configuration. Each is created once and shared by all sessions. */
export class AgentModels {
  readonly #config: AgentConfig
  readonly #made = new Map<string, Model>()

  constructor(config: AgentConfig) {
    this.#config = config
  }

  /** Throws for an unknown name, and for a model that could not be created. Nothing is created before its first use. */
  check(name: string | undefined): void {
    const { price } = resolveModel(this.#config, name)
    if (price !== undefined) checkPrice(price)
  }

  /** The model with this name, or the default one; offline if none is configured. Throws for an unknown name. */
  resolve(name: string | undefined): Model {
    if (name === undefined && this.#config.providers.length === 0) return this.#keep('offline', offlineModel)
    const config = resolveModel(this.#config, name)
    return this.#keep(`${config.provider}/${config.id}`, () => createModel(config))
  }

  #keep(key: string, make: () => Model): Model {
    const model = this.#made.get(key) ?? make()
    this.#made.set(key, model)
    return model
  }
}
