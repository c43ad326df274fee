import type { AgentConfig } from '../../agent/config/index.js'
import type { Model } from '../../model/model.js'
import { offlineModel } from '../../model/offline/offline-model.js'
import { createModel, type ModelConfig } from '../../model/provider.js'
import { type ProviderFamily, wellKnownProvider } from '../../model/well-known.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'
import { isInstalled } from './is-installed.js'
import { type KeyedProvider, keyedProviders } from './known-models.js'
import { findLocalModel, localServersOf } from './local-models.js'

/** The model of a session, and how it was chosen. */
export type ChosenModel = {
  /** `provider/model`. */
  readonly name: string
  /** For `SessionOptions.model`: the name of a configured model, or a model. */
  readonly model: string | Model
  readonly from: 'flag' | 'config' | 'environment' | 'local' | 'offline'
  /** Why this model is used, when the user did not choose it. */
  readonly note?: string
}

export type ModelRequest = {
  readonly env: Io['env']
  readonly config: AgentConfig
  /** `--model`. */
  readonly named?: string | undefined
}

/**
 * Chooses the model: the flag, else `CAPSTAN_MODEL`, else the configuration, else the default model for an API key in
 * the environment, else a model server on this machine, else the offline model.
 */
export async function chooseModel(request: ModelRequest): Promise<ChosenModel> {
  const named = request.named ?? (request.env['CAPSTAN_MODEL'] || undefined)
  if (named !== undefined) return namedModel(named, request)
  const { defaultModel } = request.config
  if (defaultModel !== undefined && request.config.providers.length > 0)
    return { name: defaultModel, model: defaultModel, from: 'config' }
  return fromEnvironment(request) ?? (await fromThisMachine(request)) ?? offline()
}

/**
 * Returns the protocol of a provider that is found by its key: its own if its package is installed, otherwise chat
 * completions.
 */
function reachOf({ own }: KeyedProvider): { readonly api?: 'chat'; readonly baseUrl?: string } {
  return own === undefined || isInstalled(own.package) ? {} : { api: 'chat', baseUrl: own.chat }
}

/** The model with this name: a configured one, or one of a well-known provider. */
export function namedModel(
  named: string,
  { env, config }: Pick<ModelRequest, 'env' | 'config'>,
): ChosenModel {
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
      `Unknown model ${JSON.stringify(named)}.`,
      `Write provider/model, for example openai/gpt-5 or ollama/qwen3, or declare the model in a configuration${declared.length > 0 ? `; declared: ${declared.map((each) => `${each.name}/${each.id}`).join(', ')}` : ''}.`,
    )
  const keyed = keyedProviders.find((each) => each.provider === provider)
  const apiKey = keyIn(env, keyed?.variables ?? [known.env])
  const access = accessIn(known.protocol, env)
  if (apiKey === undefined && access === undefined && !isOnThisMachine(known.baseUrl))
    throw new UsageError(
      `${named} needs an API key, and ${known.env} is not set.`,
      `Set ${known.env} in the environment.`,
    )
  const reach = keyed === undefined ? {} : reachOf(keyed)
  const model = createModel(omitUndefined({ provider, id, ...reach, apiKey, ...access }))
  return { name: named, model, from: 'flag' }
}

/** Returns the settings that Azure, Bedrock and Vertex AI need in addition to a key, or in place of one. */
function accessIn(protocol: ProviderFamily, env: Io['env']): Partial<ModelConfig> | undefined {
  const of = (...names: readonly string[]): string | undefined => keyIn(env, names)
  if (protocol === 'azure')
    return omitUndefined({
      baseUrl: of('AZURE_OPENAI_ENDPOINT'),
      apiVersion: of('AZURE_OPENAI_API_VERSION', 'OPENAI_API_VERSION'),
      accessToken: of('AZURE_OPENAI_AD_TOKEN'),
    })
  if (protocol === 'vertex')
    return omitUndefined({
      accessToken: of('VERTEX_ACCESS_TOKEN'),
      vertex: {
        project: of('GOOGLE_CLOUD_PROJECT', 'GOOGLE_VERTEX_PROJECT'),
        location: of('GOOGLE_CLOUD_LOCATION', 'GOOGLE_VERTEX_LOCATION'),
        credentialsFile: of('GOOGLE_APPLICATION_CREDENTIALS'),
      },
    })
  if (protocol !== 'bedrock') return undefined
  return {
    aws: {
      region: of('AWS_REGION', 'AWS_DEFAULT_REGION'),
      accessKeyId: of('AWS_ACCESS_KEY_ID'),
      secretAccessKey: of('AWS_SECRET_ACCESS_KEY'),
      sessionToken: of('AWS_SESSION_TOKEN'),
    },
  }
}

function fromEnvironment({ env }: ModelRequest): ChosenModel | undefined {
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
      note: `model: ${name}, because ${variable} is set; choose another with --model`,
    }
  }
  return undefined
}

async function fromThisMachine({ env }: ModelRequest): Promise<ChosenModel | undefined> {
  const found = await findLocalModel(localServersOf(env))
  if (found === undefined) return undefined
  const { provider, url, model: id, others } = found
  const more = others > 0 ? ` (which has ${others} more)` : ''
  return {
    name: `${provider}/${id}`,
    model: createModel({ provider, id, baseUrl: url }),
    from: 'local',
    note: `model: ${id} of the server at ${url}${more}; choose another with --model`,
  }
}

function offline(): ChosenModel {
  return {
    name: 'offline/rules',
    model: howToConnect(),
    from: 'offline',
    note: 'no language model is configured: using the built-in offline model, which only follows simple rules; set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama',
  }
}

function howToConnect(): Model {
  return offlineModel({
    howToConfigure:
      'To use a language model, set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local server, or run "capstan init".',
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
