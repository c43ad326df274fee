/** A provider whose API key can be in the environment, with its default model. */
export type KeyedProvider = {
  readonly provider: string
  readonly variables: readonly string[]
  readonly model: string
  /** The package for the provider's own protocol, and the URL of its chat completions for users without the package. */
  readonly own?: { readonly package: string; readonly chat: string }
}

/**
 * Providers in order of precedence when several keys are set. This is the only list of model names: providers retire
 * models, so check it with every release. The models must support tool calls over chat completions.
 */
export const keyedProviders: readonly [KeyedProvider, ...KeyedProvider[]] = [
  {
    provider: 'anthropic',
    variables: ['ANTHROPIC_API_KEY'],
    model: 'claude-sonnet-5-5',
    own: { package: '@ai-sdk/anthropic', chat: 'https://api.anthropic.com/v1' },
  },
  { provider: 'openai', variables: ['OPENAI_API_KEY'], model: 'gpt-5.2' },
  {
    provider: 'google',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    model: 'gemini-pro-latest',
    own: {
      package: '@ai-sdk/google',
      chat: 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    },
  },
  { provider: 'openrouter', variables: ['OPENROUTER_API_KEY'], model: 'openrouter/auto' },
  { provider: 'deepseek', variables: ['DEEPSEEK_API_KEY'], model: 'deepseek-flash' },
  { provider: 'mistral', variables: ['MISTRAL_API_KEY'], model: 'mistral-large-latest' },
  { provider: 'xai', variables: ['XAI_API_KEY'], model: 'grok-4.5' },
  { provider: 'groq', variables: ['GROQ_API_KEY'], model: 'openai/gpt-oss-120b' },
  { provider: 'moonshot', variables: ['MOONSHOT_API_KEY'], model: 'kimi-k2.6' },
  { provider: 'zhipu', variables: ['ZHIPU_API_KEY'], model: 'glm-5.1' },
]

/** Model servers that users run on their own machine, at their usual ports. */
export const localServers = [
  { provider: 'ollama', url: 'http://127.0.0.1:11434/v1' },
  { provider: 'lmstudio', url: 'http://127.0.0.1:1234/v1' },
  { provider: 'llamacpp', url: 'http://127.0.0.1:8080/v1' },
] as const
