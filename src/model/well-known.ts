/** The protocols of providers. */
export type ProviderFamily = 'anthropic' | 'google' | 'openai-responses' | 'zhipu' | 'chat'

export type WellKnown = {
  readonly baseUrl?: string
  /** The environment variable that usually contains the key; only used in messages. */
  readonly env: string
}

/** Returns the protocol of a provider by its name. Unknown names use chat completions. */
export function providerFamily(provider: string): ProviderFamily {
  return families.get(provider.toLowerCase()) ?? 'chat'
}

export function wellKnownProvider(provider: string): WellKnown | undefined {
  return wellKnown.get(provider.toLowerCase())
}

/** Returns whether the provider with this name enforces a JSON Schema at its own address. */
export function hasNativeOutput(provider: string): boolean {
  return withNativeOutput.has(provider.toLowerCase())
}

const withNativeOutput = new Set([
  ...['openai', 'gpt', 'openai-responses'],
  ...['anthropic', 'claude'],
  ...['google', 'gemini'],
])

const families = new Map<string, ProviderFamily>([
  ['anthropic', 'anthropic'],
  ['claude', 'anthropic'],
  ['google', 'google'],
  ['gemini', 'google'],
  ['openai-responses', 'openai-responses'],
  ['glm', 'zhipu'],
  ['zhipu', 'zhipu'],
  ['bigmodel', 'zhipu'],
])

const openai: WellKnown = { baseUrl: 'https://api.openai.com/v1', env: 'OPENAI_API_KEY' }
const anthropic: WellKnown = { env: 'ANTHROPIC_API_KEY' }
const google: WellKnown = { env: 'GEMINI_API_KEY' }
const zhipu: WellKnown = { baseUrl: 'https://open.bigmodel.cn', env: 'ZHIPU_API_KEY' }
const moonshot: WellKnown = { baseUrl: 'https://api.moonshot.ai/v1', env: 'MOONSHOT_API_KEY' }

const wellKnown = new Map<string, WellKnown>([
  ['openai', openai],
  ['gpt', openai],
  ['openai-responses', { env: openai.env }],
  ['anthropic', anthropic],
  ['claude', anthropic],
  ['google', google],
  ['gemini', google],
  ['glm', zhipu],
  ['zhipu', zhipu],
  ['bigmodel', zhipu],
  ['moonshot', moonshot],
  ['kimi', moonshot],
  ['deepseek', { baseUrl: 'https://api.deepseek.com', env: 'DEEPSEEK_API_KEY' }],
  ['groq', { baseUrl: 'https://api.groq.com/openai/v1', env: 'GROQ_API_KEY' }],
  ['mistral', { baseUrl: 'https://api.mistral.ai/v1', env: 'MISTRAL_API_KEY' }],
  ['openrouter', { baseUrl: 'https://openrouter.ai/api/v1', env: 'OPENROUTER_API_KEY' }],
  ['together', { baseUrl: 'https://api.together.xyz/v1', env: 'TOGETHER_API_KEY' }],
  ['fireworks', { baseUrl: 'https://api.fireworks.ai/inference/v1', env: 'FIREWORKS_API_KEY' }],
  ['cerebras', { baseUrl: 'https://api.cerebras.ai/v1', env: 'CEREBRAS_API_KEY' }],
  ['xai', { baseUrl: 'https://api.x.ai/v1', env: 'XAI_API_KEY' }],
  ['ollama', { baseUrl: 'http://127.0.0.1:11434/v1', env: 'OLLAMA_API_KEY' }],
  ['lmstudio', { baseUrl: 'http://127.0.0.1:1234/v1', env: 'LMSTUDIO_API_KEY' }],
  ['llamacpp', { baseUrl: 'http://127.0.0.1:8080/v1', env: 'LLAMACPP_API_KEY' }],
  ['vllm', { baseUrl: 'http://127.0.0.1:8000/v1', env: 'VLLM_API_KEY' }],
])
