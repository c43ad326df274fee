/** What JSON can say. Arguments, metadata and envelopes are made of it. */
export type JsonPrimitive = string | number | boolean | null
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject
export type JsonObject = { [key: string]: JsonValue }

/** A JSON Schema document (draft 2020-12, or draft-07 when `$schema` says so). */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** An object whose members can be looked up by name: neither null, nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
