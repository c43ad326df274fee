import { isRecord, type JsonObject } from '../../tool/json.js'

/**
 * A language model object of the AI SDK, of specification v2, v3 or v4. Stated by what is used of it, so that no version of that
 * library is needed to compile against this one.
 */
export type AiSdkModel = {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(
    options: Readonly<Record<string, unknown>>,
  ): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** What is asked of a model object: the settings that all three specifications share. */
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

/** What only one provider understands, by the provider's name. */
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

/** Which of the specifications a model object follows; newer ones are taken for the newest that is known. */
export function specificationOf({ specificationVersion }: AiSdkModel): 'v2' | 'v3' | 'v4' {
  return specificationVersion === 'v2' || specificationVersion === 'v3' ? specificationVersion : 'v4'
}

/** Whether a value can be used as a model object of the AI SDK. */
export function isAiSdkModel(value: unknown): value is AiSdkModel {
  return (
    isRecord(value) &&
    typeof value['specificationVersion'] === 'string' &&
    typeof value['provider'] === 'string' &&
    typeof value['modelId'] === 'string' &&
    typeof value['doStream'] === 'function'
  )
}
