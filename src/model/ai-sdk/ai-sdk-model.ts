import { isRecord, type JsonObject } from '../../tool/json.js'

/**
 * A language model object of the AI SDK, specification v2, v3 or v4. Only the parts in use are declared, so that no
 * version of that library is needed to compile this package.
 */
export type AiSdkModel = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(options: Readonly<Record<string, unknown>>): PromiseLike<{
    readonly stream: ReadableStream<unknown>
    readonly response?: { readonly headers?: Readonly<Record<string, string>> | undefined } | undefined
  }>
}

/** The options of a call to a model object: the settings that all three specifications share. */
export type AiSdkCallOptions = {
  readonly prompt: readonly AiSdkMessage[]
  readonly tools?: readonly AiSdkTool[]
  readonly toolChoice?: JsonObject
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly responseFormat?: { readonly type: 'json'; readonly schema: object; readonly name: string }
  readonly providerOptions?: AiSdkProviderOptions
  readonly abortSignal: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  readonly [setting: string]: unknown
}

/** Options of a single provider, by the provider's name. */
export type AiSdkProviderOptions = { readonly [provider: string]: JsonObject }

export type AiSdkTool = {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  readonly strict?: boolean
  readonly providerOptions?: AiSdkProviderOptions
}

export type AiSdkMessage = (
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly AiSdkPart[] }
) & { readonly providerOptions?: AiSdkProviderOptions }

export type AiSdkPart = { readonly type: string; readonly [field: string]: unknown }

/** Returns the specification of a model object; unknown newer ones are treated as the newest known one. */
export function specificationOf({ specificationVersion }: AiSdkModel): 'v2' | 'v3' | 'v4' {
  return specificationVersion === 'v2' || specificationVersion === 'v3' ? specificationVersion : 'v4'
}

/** Returns whether a value can be used as a model object of the AI SDK. */
export function isAiSdkModel(value: unknown): value is AiSdkModel {
  return (
    isRecord(value) &&
    typeof value['specificationVersion'] === 'string' &&
    typeof value['provider'] === 'string' &&
    typeof value['modelId'] === 'string' &&
    typeof value['doStream'] === 'function'
  )
}
