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

/** How a provider is asked for a level of reasoning; the names are those of the fields in its requests. */
export type EffortForm =
  | 'reasoning_effort'
  | 'reasoning.effort'
  | 'thinking and reasoning_effort'
  | 'thinking'
  | 'chat_template_kwargs'
  /** Of the provider's own protocol. */
  | 'own'

/**
 * How the prompt cache of a provider is controlled. `marks`: it caches up to marks in the request, with a time to live.
 * `retention`: it caches by itself, and can retain the cache longer. `automatic`: it caches by itself, and nothing can
 * be set.
 */
export type CacheForm = 'marks' | 'retention' | 'automatic' | 'none'

/** What is known about a provider. */
export type WellKnown = {
  readonly names: readonly string[]
  readonly protocol: ProviderFamily
  /** Absent: the provider's package, its region or its resource decides. */
  readonly baseUrl?: string
  /** The environment variable that usually contains the key. */
  readonly env: string
  readonly effort: EffortForm
  readonly cache: CacheForm
  /** The hosts at which the provider itself answers; absent: that of `baseUrl`. */
  readonly hosts?: RegExp
  /**
   * It enforces a JSON Schema at its own address: for all models unless the catalogue says otherwise, or only for those
   * of which the catalogue says so.
   */
  readonly nativeOutput?: 'usually' | 'listed'
}

/** All providers with a known name, in the order of the documentation. */
export const providers: readonly WellKnown[] = [
  {
    names: ['openai', 'gpt'],
    protocol: 'chat',
    baseUrl: 'https://api.openai.com/v1',
    env: 'OPENAI_API_KEY',
    effort: 'reasoning_effort',
    cache: 'retention',
    nativeOutput: 'usually',
  },
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
  {
    names: ['mistral'],
    protocol: 'chat',
    baseUrl: 'https://api.mistral.ai/v1',
    env: 'MISTRAL_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['xai', 'grok'],
    protocol: 'chat',
    baseUrl: 'https://api.x.ai/v1',
    env: 'XAI_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['deepseek'],
    protocol: 'chat',
    baseUrl: 'https://api.deepseek.com',
    env: 'DEEPSEEK_API_KEY',
    effort: 'thinking and reasoning_effort',
    cache: 'automatic',
  },
  {
    names: ['groq'],
    protocol: 'chat',
    baseUrl: 'https://api.groq.com/openai/v1',
    env: 'GROQ_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['openrouter'],
    protocol: 'chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    env: 'OPENROUTER_API_KEY',
    effort: 'reasoning.effort',
    cache: 'marks',
    nativeOutput: 'listed',
  },
  {
    names: ['together'],
    protocol: 'chat',
    baseUrl: 'https://api.together.xyz/v1',
    env: 'TOGETHER_API_KEY',
    effort: 'reasoning_effort',
    cache: 'none',
    nativeOutput: 'listed',
  },
  {
    names: ['fireworks'],
    protocol: 'chat',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    env: 'FIREWORKS_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['cerebras'],
    protocol: 'chat',
    baseUrl: 'https://api.cerebras.ai/v1',
    env: 'CEREBRAS_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['moonshot', 'kimi'],
    protocol: 'chat',
    baseUrl: 'https://api.moonshot.ai/v1',
    env: 'MOONSHOT_API_KEY',
    effort: 'thinking',
    cache: 'automatic',
    nativeOutput: 'listed',
  },
  {
    names: ['glm', 'zhipu', 'bigmodel'],
    protocol: 'zhipu',
    baseUrl: 'https://open.bigmodel.cn',
    env: 'ZHIPU_API_KEY',
    effort: 'thinking',
    cache: 'automatic',
  },
  {
    names: ['ollama'],
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:11434/v1',
    env: 'OLLAMA_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
  },
  {
    names: ['lmstudio', 'lm-studio'],
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:1234/v1',
    env: 'LMSTUDIO_API_KEY',
    effort: 'reasoning_effort',
    cache: 'automatic',
  },
  {
    names: ['vllm'],
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:8000/v1',
    env: 'VLLM_API_KEY',
    effort: 'chat_template_kwargs',
    cache: 'automatic',
  },
  {
    names: ['llamacpp', 'llama.cpp'],
    protocol: 'chat',
    baseUrl: 'http://127.0.0.1:8080/v1',
    env: 'LLAMACPP_API_KEY',
    effort: 'chat_template_kwargs',
    cache: 'automatic',
  },
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

/** Returns whether a model is at its provider's own address: nothing is known about a server at another address. */
export function isOwnAddress(provider: string, baseUrl: string | undefined): boolean {
  if (baseUrl === undefined) return true
  const known = wellKnownProvider(provider)
  if (known === undefined || !URL.canParse(baseUrl)) return false
  const { protocol, hostname, origin } = new URL(baseUrl)
  if (known.hosts !== undefined) return protocol === 'https:' && known.hosts.test(hostname)
  return known.baseUrl !== undefined && origin === new URL(known.baseUrl).origin
}
