import { frozenCopy } from './frozen-copy.js'
import { isRecord, type JsonObject } from './json.js'
import { jsonTextOf } from './serialize.js'

/** The metadata of a run: a copy that nothing can change. Later values win, field by field. Throws for what is no JSON object. */
export function mergeMetadata(...given: readonly (JsonObject | undefined)[]): JsonObject {
  for (const one of given) assertMetadata(one)
  return frozenCopy(Object.assign({}, ...given) as JsonObject)
}

function assertMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  if (!isRecord(metadata)) throw new TypeError('metadata must be an object.')
  if (jsonTextOf(metadata) === undefined) throw new TypeError('metadata must be JSON: no cycles, no bigint.')
}
