import type { Model } from '../model/model.js'
import { offlineModel } from '../model/offline/index.js'
import { createModel } from '../model/provider.js'
import { type AgentConfig, resolveModel } from './config/index.js'

/** The models of a configuration: one object each, shared by all sessions. */
export class AgentModels {
  readonly #config: AgentConfig
  readonly #made = new Map<string, Model>()

  constructor(config: AgentConfig) {
    this.#config = config
  }

  /** The model of this name, or the default one; the offline one when nothing is configured. Throws for a name nobody knows. */
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
