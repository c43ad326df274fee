import { frozenCopy } from './frozen-copy.js'
import { isRecord, type JsonObject } from './json.js'
import { jsonTextOf } from './serialize.js'

/**
 * Merges the metadata of a run into a frozen copy; later values win, field by field. Throws for a value that is not a
 * JSON object.
 */
export function mergeMetadata(...given: readonly (JsonObject | undefined)[]): JsonObject {
  for (const one of given) assertMetadata(one)
  return frozenCopy(Object.assign({}, ...given) as JsonObject)
}

function assertMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  if (!isRecord(metadata)) throw new TypeError('metadata must be an object.')
  if (jsonTextOf(metadata) === undefined) throw new TypeError('metadata must be JSON: no cycles, no bigint.')
}
