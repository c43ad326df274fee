import type { AgentConfig, McpServerConfig, ModelEntry, ProviderConfig } from './config.js'

/**
 * A configuration as an object. Names are in camelCase; the names of ACL (`api_key`) are accepted too. Named entries
 * (providers, models, servers) are an object by name or a list.
 *
 * ```ts
 * const config: AgentConfigInput = {
 *   defaultModel: 'openai/gpt-4',
 *   providers: { openai: { apiKey: process.env.OPENAI_API_KEY, models: ['gpt-4'] } },
 * }
 * ```
 */
export type AgentConfigInput = Loose<Omit<AgentConfig, Listed>> & {
  readonly providers?: Named<ProviderInput, 'name'> | undefined
  readonly mcpServers?: Named<McpServerInput, 'name'> | undefined
  readonly skillDirs?: string | readonly string[] | undefined
  readonly agentDirs?: string | readonly string[] | undefined
}

export type ProviderInput = Loose<Omit<ProviderConfig, 'name' | 'models'>> & {
  readonly models?: Named<ModelInput, 'id'> | undefined
}

export type ModelInput = Loose<Omit<ModelEntry, 'id'>> & {
  readonly limit?: { readonly context?: number | undefined; readonly output?: number | undefined } | undefined
}

export type McpServerInput = Loose<Omit<McpServerConfig, 'name'>>

type Listed = 'providers' | 'mcpServers' | 'skillDirs' | 'agentDirs'

/** Named entries: an object by name, or a list. An entry without other fields can be just its name. */
type Named<T, Key extends string> =
  | Readonly<Record<string, T>>
  | readonly (string | (T & { readonly [K in Key]: string }))[]

/** Every field is optional and can be `undefined`, like an environment variable that is not set. */
type Loose<T> = T extends string | number | boolean | readonly unknown[]
  ? T
  : { readonly [K in keyof T]?: Loose<Exclude<T[K], undefined>> | undefined }
