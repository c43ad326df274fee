import type { ModelFacts } from '../../model/model.js'
import type { ModelConfig } from '../../model/provider.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { AgentConfig, ModelEntry, ProviderConfig } from './config.js'
import { ConfigError } from './config-error.js'

const maxListed = 20

/**
 * Resolves a name such as `openai/gpt-4` to a model and its settings; without a name, the default model. The part
 * before the first slash is the provider. Throws a {@link ConfigError} for an undeclared model.
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

/** Suggests the full name for a model id without its provider, which is a common mistake. */
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

/** The settings of a model take precedence over those of its provider; headers are merged by name. */
function combine(provider: ProviderConfig, model: ModelEntry): ModelConfig {
  const facts = factsOf(model)
  return omitUndefined({
    provider: provider.name,
    id: model.id,
    name: model.name,
    api: model.api ?? provider.api,
    apiKey: model.apiKey ?? provider.apiKey,
    baseUrl: model.baseUrl ?? provider.baseUrl,
    accessToken: model.accessToken ?? provider.accessToken,
    aws: model.aws ?? provider.aws,
    vertex: model.vertex ?? provider.vertex,
    apiVersion: model.apiVersion ?? provider.apiVersion,
    proxy: model.proxy ?? provider.proxy,
    caFile: model.caFile ?? provider.caFile,
    promptCache: model.promptCache ?? provider.promptCache,
    rateLimit: model.rateLimit ?? provider.rateLimit,
    sessionIdHeader: model.sessionIdHeader ?? provider.sessionIdHeader,
    headers: mergeHeaders(provider.headers, model.headers),
    facts: Object.keys(facts).length > 0 ? facts : undefined,
    price: model.cost,
  })
}

type Headers = Readonly<Record<string, string>>

function mergeHeaders(outer: Headers | undefined, inner: Headers | undefined): Headers | undefined {
  if (outer === undefined || inner === undefined) return inner ?? outer
  const replaced = new Set(Object.keys(inner).map((name) => name.toLowerCase()))
  const others = Object.entries(outer).filter(([name]) => !replaced.has(name.toLowerCase()))
  return Object.fromEntries([...others, ...Object.entries(inner)])
}

/** Only the facts that are declared; the model's defaults apply to the rest. */
function factsOf(model: ModelEntry): Partial<ModelFacts> {
  const inputs = model.modalities?.input
  const images = inputs?.includes('image') ?? model.attachment
  const documents = inputs?.some((each) => each === 'pdf' || each === 'document') ?? model.attachment
  return omitUndefined({
    contextTokens: model.contextTokens,
    outputTokens: model.outputTokens,
    tools: model.toolCall,
    reasoning: model.reasoning,
    temperature: model.temperature,
    structuredOutput: model.structuredOutput,
    images,
    documents,
    audio: inputs?.includes('audio'),
    video: inputs?.includes('video'),
  })
}

function shown(name: string): string {
  return name.slice(0, 80)
}
