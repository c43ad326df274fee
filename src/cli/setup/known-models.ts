/** A provider whose key may be in the environment, and the model that is taken when nothing else is said. */
export type KeyedProvider = {
  readonly provider: string
  readonly variables: readonly string[]
  readonly model: string
  /** The package that speaks the provider's own protocol, and where it speaks chat completions to those who do not have it. */
  readonly own?: { readonly package: string; readonly chat: string }
}

/**
 * In the order in which they are taken when several keys are there. The one place that names models: providers retire theirs within a year
 * or two, so these are to be looked at with every release. They must do their tool calls over chat completions. Who wants another says so.
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

/** Servers that people run on their own machine. */
export const localServers = [
  { provider: 'ollama', url: 'http://127.0.0.1:11434/v1' },
  { provider: 'lmstudio', url: 'http://127.0.0.1:1234/v1' },
  { provider: 'llamacpp', url: 'http://127.0.0.1:8080/v1' },
] as const
