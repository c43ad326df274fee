/** The protocols of providers. */
export type ProviderFamily =
  | 'anthropic'
  | 'google'
  | 'openai-responses'
  | 'zhipu'
  | 'chat'
  | 'azure'
  | 'bedrock'
  | 'vertex'

/** How a reasoning level is requested from a provider; the names are those of the fields in its requests. */
export type EffortForm =
  | 'reasoning_effort'
  | 'reasoning.effort'
  | 'thinking and reasoning_effort'
  | 'thinking'
  | 'chat_template_kwargs'
  /** With the fields of the provider's own protocol. */
  | 'own'

/**
 * How the prompt cache of a provider is controlled. `marks`: it caches up to marks in the request, with a time to live.
 * `retention`: it caches automatically, and can retain the cache longer. `automatic`: it caches automatically, and
 * nothing can be set.
 */
export type CacheForm = 'marks' | 'retention' | 'automatic' | 'none'

/** The known properties of a provider. */
export type WellKnown = {
  readonly names: readonly string[]
  readonly protocol: ProviderFamily
  /** Absent: the provider's package, region or resource determines it. */
  readonly baseUrl?: string
  /** The environment variable that usually contains the key. */
  readonly env: string
  readonly effort: EffortForm
  readonly cache: CacheForm
  /** The hosts of the provider itself; absent: the host of `baseUrl`. */
  readonly hosts?: RegExp
  /**
   * Whether the provider enforces a JSON Schema at its own URL: for all models unless the catalogue states otherwise,
   * or only for those that the catalogue lists with it.
   */
  readonly nativeOutput?: 'usually' | 'listed'
}

/** Creates the entry of a provider that uses chat completions, with the properties that most of them share. */
function chat(
  names: readonly string[],
  baseUrl: string,
  env: string,
  more: Partial<Pick<WellKnown, 'protocol' | 'effort' | 'cache' | 'nativeOutput'>> = {},
): WellKnown {
  return { names, protocol: 'chat', baseUrl, env, effort: 'reasoning_effort', cache: 'automatic', ...more }
}

const listed = { nativeOutput: 'listed' } as const

/** All providers with a known name, in the order of the documentation. */
export const providers: readonly WellKnown[] = [
  chat(['openai', 'gpt'], 'https://api.openai.com/v1', 'OPENAI_API_KEY', {
    cache: 'retention',
    nativeOutput: 'usually',
  }),
  {
    names: ['openai-responses'],
    protocol: 'openai-responses',
    env: 'OPENAI_API_KEY',
    effort: 'own',
    cache: 'retention',
    hosts: /^api\.openai\.com$/,
    nativeOutput: 'usually',
  },
  {
    names: ['azure', 'azure-openai'],
    protocol: 'azure',
    env: 'AZURE_OPENAI_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    hosts: /^[^.]+\.(?:openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/,
    nativeOutput: 'listed',
  },
  {
    names: ['anthropic', 'claude'],
    protocol: 'anthropic',
    env: 'ANTHROPIC_API_KEY',
    effort: 'own',
    cache: 'marks',
    hosts: /^api\.anthropic\.com$/,
    nativeOutput: 'usually',
  },
  {
    names: ['bedrock', 'amazon-bedrock'],
    protocol: 'bedrock',
    env: 'AWS_BEARER_TOKEN_BEDROCK',
    effort: 'own',
    cache: 'marks',
    hosts: /^bedrock-runtime(?:-fips)?\.[a-z\d-]+\.amazonaws\.com$/,
  },
  {
    names: ['google', 'gemini'],
    protocol: 'google',
    env: 'GEMINI_API_KEY',
    effort: 'own',
    cache: 'automatic',
    hosts: /^generativelanguage\.googleapis\.com$/,
    nativeOutput: 'usually',
  },
  {
    names: ['vertex', 'google-vertex'],
    protocol: 'vertex',
    env: 'VERTEX_ACCESS_TOKEN',
    effort: 'own',
    cache: 'automatic',
    hosts: /^(?:[a-z\d-]+-)?aiplatform\.googleapis\.com$/,
    nativeOutput: 'usually',
  },
  chat(['mistral'], 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', listed),
  chat(['xai', 'grok'], 'https://api.x.ai/v1', 'XAI_API_KEY', listed),
  chat(['deepseek'], 'https://api.deepseek.com', 'DEEPSEEK_API_KEY', {
    effort: 'thinking and reasoning_effort',
  }),
  chat(['groq'], 'https://api.groq.com/openai/v1', 'GROQ_API_KEY', listed),
  chat(['openrouter'], 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY', {
    effort: 'reasoning.effort',
    cache: 'marks',
    ...listed,
  }),
  chat(['together'], 'https://api.together.xyz/v1', 'TOGETHER_API_KEY', { cache: 'none', ...listed }),
  chat(['fireworks'], 'https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY', listed),
  chat(['cerebras'], 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY', listed),
  chat(['moonshot', 'kimi'], 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY', {
    effort: 'thinking',
    ...listed,
  }),
  chat(['glm', 'zhipu', 'bigmodel'], 'https://open.bigmodel.cn', 'ZHIPU_API_KEY', {
    protocol: 'zhipu',
    effort: 'thinking',
  }),
  chat(['ollama'], 'http://127.0.0.1:11434/v1', 'OLLAMA_API_KEY'),
  chat(['lmstudio', 'lm-studio'], 'http://127.0.0.1:1234/v1', 'LMSTUDIO_API_KEY'),
  chat(['vllm'], 'http://127.0.0.1:8000/v1', 'VLLM_API_KEY', { effort: 'chat_template_kwargs' }),
  chat(['llamacpp', 'llama.cpp'], 'http://127.0.0.1:8080/v1', 'LLAMACPP_API_KEY', {
    effort: 'chat_template_kwargs',
  }),
]

/** Returns the protocol of a provider by its name. Unknown names use chat completions. */
export function providerFamily(provider: string): ProviderFamily {
  return wellKnownProvider(provider)?.protocol ?? 'chat'
}

export function wellKnownProvider(provider: string): WellKnown | undefined {
  byName ??= new Map(providers.flatMap((known) => known.names.map((name) => [name, known])))
  return byName.get(provider.toLowerCase())
}

let byName: ReadonlyMap<string, WellKnown> | undefined

/** Returns whether a model is at its provider's own URL. Nothing is known about a server at another URL. */
export function isOwnAddress(provider: string, baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return true
  const known = wellKnownProvider(provider)
  if (known === undefined || !URL.canParse(baseUrl)) return false
  const { protocol, hostname, origin } = new URL(baseUrl)
  if (known.hosts !== undefined) return protocol === 'https:' && known.hosts.test(hostname)
  return known.baseUrl !== undefined && origin === new URL(known.baseUrl).origin
}
