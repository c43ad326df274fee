import { tryOr } from '../../tool/errors.js'
import { isRecord, type JsonObject } from '../../tool/json.js'
import type { AiSdkProviderOptions } from './ai-sdk-model.js'

/**
 * Returns the data that a provider expects to get back with a part of its answer (a signature of its reasoning, the id
 * of an item, encrypted reasoning), as text for the history. It contains the provider's name, so that it is never sent
 * to another one.
 */
export function signatureOf(metadata: AiSdkProviderOptions | undefined): string | undefined {
  if (metadata === undefined || Object.values(metadata).every((own) => Object.keys(own).length === 0))
    return undefined
  return JSON.stringify(metadata)
}

/** Returns a signature as options for its provider; undefined for another provider's signature or an unknown format. */
export function optionsOfSignature(signature: string, provider: string): AiSdkProviderOptions | undefined {
  const options = metadataOf(tryOr(() => JSON.parse(signature), undefined))
  const isOwn = Object.keys(options).some((name) => provider.toLowerCase().includes(name.toLowerCase()))
  return isOwn ? options : undefined
}

/** Returns the provider metadata of a stream part. */
export function metadataOf(value: unknown): AiSdkProviderOptions {
  if (!isRecord(value)) return {}
  const own = Object.entries(value).filter((entry): entry is [string, JsonObject] => isRecord(entry[1]))
  return Object.fromEntries(own)
}

/**
 * Merges metadata. Later values override earlier ones, except null: providers send a field as null before its value is
 * known.
 */
export function mergeMetadata(
  before: AiSdkProviderOptions | undefined,
  after: AiSdkProviderOptions,
): AiSdkProviderOptions {
  const merged: { [provider: string]: JsonObject } = { ...before }
  for (const [provider, fields] of Object.entries(after)) {
    const known = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
    merged[provider] = { ...merged[provider], ...Object.fromEntries(known) }
  }
  return merged
}
