/** A scalar JSON value. Arguments, metadata and envelopes are JSON. */
export type JsonPrimitive = string | number | boolean | null
/** Any JSON value. */
export type JsonValue = JsonPrimitive | JsonValue[] | JsonObject
/** A JSON object. */
export type JsonObject = { [key: string]: JsonValue }

/** A JSON Schema document (draft 2020-12, or draft-07 when `$schema` says so). */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Returns whether a value is an object with named members: not null and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns whether an object is a literal or has no prototype: not of a class, such as a date or bytes. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
