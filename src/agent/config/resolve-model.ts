import type { ModelFacts } from '../../model/model.js'
import type { ModelConfig } from '../../model/provider.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import type { AgentConfig, ModelEntry, ProviderConfig } from './config.js'
import { ConfigError } from './config-error.js'

const maxListed = 20

/**
 * The model of a name such as `openai/gpt-4`, with all that is known of it; the default one when no name is given. Everything up to
 * the first slash names the provider. Throws a {@link ConfigError} for what is not declared.
 */
export function resolveModel(
  config: AgentConfig,
  name: string | undefined = config.defaultModel,
): ModelConfig {
  if (name === undefined) {
    throw new ConfigError(
      'No model is configured: declare one under providers, and set default_model to "provider/model"',
    )
  }
  const slash = name.indexOf('/')
  if (slash <= 0 || slash === name.length - 1) {
    throw new ConfigError(
      `Model "${shown(name)}" must be written as "provider/model"${suggestModel(config, name)}`,
    )
  }
  const provider = findProvider(config, name.slice(0, slash), name)
  const model = findModel(provider, name.slice(slash + 1), name)
  return combine(provider, model)
}

function findProvider({ providers }: AgentConfig, wanted: string, name: string): ProviderConfig {
  const found = providers.find((provider) => provider.name === wanted)
  if (found !== undefined) return found
  const names = providers.map((provider) => provider.name)
  throw new ConfigError(
    `Model "${shown(name)}": provider "${shown(wanted)}" is not declared${suggest(wanted, names, 'providers')}`,
  )
}

function findModel({ name: provider, models }: ProviderConfig, wanted: string, name: string): ModelEntry {
  const found = models.find((model) => model.id === wanted)
  if (found !== undefined) return found
  const ids = models.map((model) => model.id)
  throw new ConfigError(
    `Model "${shown(name)}" is not declared under provider "${shown(provider)}"${suggest(wanted, ids, 'models')}`,
  )
}

/** A bare model id is the usual slip: where it is declared, the full name is told. */
function suggestModel({ providers }: AgentConfig, name: string): string {
  const full = providers.flatMap((provider) =>
    provider.models.filter(({ id }) => id === name).map(({ id }) => `${provider.name}/${id}`),
  )
  return full.length > 0 ? `; did you mean ${quoteNames(full.slice(0, 3))}?` : ''
}

function suggest(wanted: string, known: readonly string[], what: string): string {
  if (known.length === 0) return `: no ${what} are declared`
  const near = nearestNames(wanted, known)
  const meant = near.length > 0 ? `; did you mean ${quoteNames(near)}?` : '.'
  const listed = known
    .slice(0, maxListed)
    .map((each) => `"${shown(each)}"`)
    .join(', ')
  const more = known.length > maxListed ? ` and ${known.length - maxListed} more` : ''
  return `${meant} Declared ${what}: ${listed}${more}`
}

/** What a model says of itself goes before what its provider says; headers are put together by their names. */
function combine(provider: ProviderConfig, model: ModelEntry): ModelConfig {
  const api = model.api ?? provider.api
  const apiKey = model.apiKey ?? provider.apiKey
  const baseUrl = model.baseUrl ?? provider.baseUrl
  const sessionIdHeader = model.sessionIdHeader ?? provider.sessionIdHeader
  const headers = mergeHeaders(provider.headers, model.headers)
  const facts = factsOf(model)
  return {
    provider: provider.name,
    id: model.id,
    ...(model.name !== undefined && { name: model.name }),
    ...(api !== undefined && { api }),
    ...(apiKey !== undefined && { apiKey }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(sessionIdHeader !== undefined && { sessionIdHeader }),
    ...(headers !== undefined && { headers }),
    ...(Object.keys(facts).length > 0 && { facts }),
    ...(model.cost !== undefined && { price: model.cost }),
  }
}

type Headers = Readonly<Record<string, string>>

function mergeHeaders(outer: Headers | undefined, inner: Headers | undefined): Headers | undefined {
  if (outer === undefined || inner === undefined) return inner ?? outer
  const replaced = new Set(Object.keys(inner).map((name) => name.toLowerCase()))
  const kept = Object.entries(outer).filter(([name]) => !replaced.has(name.toLowerCase()))
  return Object.fromEntries([...kept, ...Object.entries(inner)])
}

/** Only what was declared: for the rest, the usual is assumed. */
function factsOf(model: ModelEntry): Partial<ModelFacts> {
  const inputs = model.modalities?.input
  const images = inputs?.includes('image') ?? model.attachment
  const documents = inputs?.some((each) => each === 'pdf' || each === 'document') ?? model.attachment
  return {
    ...(model.contextTokens !== undefined && { contextTokens: model.contextTokens }),
    ...(model.outputTokens !== undefined && { outputTokens: model.outputTokens }),
    ...(model.toolCall !== undefined && { tools: model.toolCall }),
    ...(model.reasoning !== undefined && { reasoning: model.reasoning }),
    ...(model.temperature !== undefined && { temperature: model.temperature }),
    ...(model.structuredOutput !== undefined && { structuredOutput: model.structuredOutput }),
    ...(images !== undefined && { images }),
    ...(documents !== undefined && { documents }),
  }
}

function shown(name: string): string {
  return name.slice(0, 80)
}
