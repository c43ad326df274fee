import type { AgentConfig } from '../../agent/config/index.js'
import type { Model } from '../../model/model.js'
import { offlineModel } from '../../model/offline/index.js'
import { createModel } from '../../model/provider.js'
import { wellKnownProvider } from '../../model/well-known.js'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { isInstalled } from './is-installed.js'
import { type KeyedProvider, keyedProviders } from './known-models.js'
import { findLocalModel, localServersOf } from './local-models.js'

/** The model that a session of the command asks, and how it came to be chosen. */
export type ChosenModel = {
  /** `provider/model`. */
  readonly name: string
  /** For `SessionOptions.model`: a name of the configuration, or a model. */
  readonly model: string | Model
  readonly from: 'flag' | 'config' | 'environment' | 'local' | 'offline'
  /** One line for people: why this one, where they have not said so themselves. */
  readonly says?: string
}

export type ModelWish = {
  readonly env: Io['env']
  readonly config: AgentConfig
  /** `--model`. */
  readonly named?: string | undefined
}

/**
 * The flag, else `CAPSTAN_MODEL`, else the configuration, else a key in the environment, else a server on this machine that answers,
 * else the offline model, which says so.
 */
export async function chooseModel(wish: ModelWish): Promise<ChosenModel> {
  const named = wish.named ?? (wish.env['CAPSTAN_MODEL'] || undefined)
  if (named !== undefined) return namedModel(named, wish)
  const { defaultModel } = wish.config
  if (defaultModel !== undefined && wish.config.providers.length > 0)
    return { name: defaultModel, model: defaultModel, from: 'config' }
  return fromEnvironment(wish) ?? (await fromThisMachine(wish)) ?? offline()
}

/** How a provider that is found by its key is reached: by its own package where that is installed. */
function reachOf({ own }: KeyedProvider): { readonly api?: 'chat'; readonly baseUrl?: string } {
  return own === undefined || isInstalled(own.package) ? {} : { api: 'chat', baseUrl: own.chat }
}

/** The model of this name: one of the configuration, or of a provider that is known by its name. */
export function namedModel(named: string, { env, config }: Pick<ModelWish, 'env' | 'config'>): ChosenModel {
  if (named === 'offline') return { name: 'offline/rules', model: howToConnect(), from: 'flag' }
  const slash = named.indexOf('/')
  const [provider, id] = [named.slice(0, Math.max(0, slash)), named.slice(slash + 1)]
  if (config.providers.some(({ name }) => name === provider))
    return { name: named, model: named, from: 'flag' }
  const declared = config.providers.flatMap(({ name, models }) =>
    models.map((model) => ({ name, id: model.id })),
  )
  const only = declared.filter((each) => each.id === named)
  if (only.length === 1 && only[0] !== undefined) {
    const name = `${only[0].name}/${only[0].id}`
    return { name, model: name, from: 'flag' }
  }
  const known = wellKnownProvider(provider)
  if (known === undefined || id === '')
    throw new UsageError(
      `There is no model ${JSON.stringify(named)}.`,
      `Write it as provider/model, such as openai/gpt-5 or ollama/qwen3, or declare it in a configuration${declared.length > 0 ? `; declared: ${declared.map((each) => `${each.name}/${each.id}`).join(', ')}` : ''}.`,
    )
  const keyed = keyedProviders.find((each) => each.provider === provider)
  const apiKey = keyIn(env, keyed?.variables ?? [known.env])
  if (apiKey === undefined && !isOnThisMachine(known.baseUrl))
    throw new UsageError(
      `${named} needs a key, and ${known.env} is not set.`,
      `Set ${known.env} in the environment.`,
    )
  const reach = keyed === undefined ? {} : reachOf(keyed)
  const model = createModel({ provider, id, ...reach, ...(apiKey !== undefined && { apiKey }) })
  return { name: named, model, from: 'flag' }
}

function fromEnvironment({ env }: ModelWish): ChosenModel | undefined {
  for (const keyed of keyedProviders) {
    const variable = keyed.variables.find((name) => isSet(env[name]))
    const apiKey = variable === undefined ? undefined : env[variable]
    if (apiKey === undefined) continue
    const { provider, model: id } = keyed
    const name = `${provider}/${id}`
    return {
      name,
      model: createModel({ provider, id, apiKey, ...reachOf(keyed) }),
      from: 'environment',
      says: `model: ${name}, since ${variable} is set; --model chooses another`,
    }
  }
  return undefined
}

async function fromThisMachine({ env }: ModelWish): Promise<ChosenModel | undefined> {
  const found = await findLocalModel(localServersOf(env))
  if (found === undefined) return undefined
  const { provider, url, model: id, others } = found
  const more = others > 0 ? ` (it has ${others} more)` : ''
  return {
    name: `${provider}/${id}`,
    model: createModel({ provider, id, baseUrl: url }),
    from: 'local',
    says: `model: ${id} of the server at ${url}${more}; --model chooses another`,
  }
}

function offline(): ChosenModel {
  return {
    name: 'offline/rules',
    model: howToConnect(),
    from: 'offline',
    says: 'no language model is configured: this is the offline model, which only follows simple rules; set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama',
  }
}

function howToConnect(): Model {
  return offlineModel({
    howToConfigure:
      'To use a language model, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local server, or run "capstan init".',
  })
}

function keyIn(env: Io['env'], variables: readonly string[]): string | undefined {
  return variables.map((name) => env[name]).find(isSet)
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== ''
}

function isOnThisMachine(url: string | undefined): boolean {
  return url?.startsWith('http://127.0.0.1:') === true
}
