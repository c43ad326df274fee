import { crc32 } from 'node:zlib'
import { isRecord } from '../../tool/json.js'
import type { SessionRecord } from '../records.js'
import { sessionInfo } from '../session-info.js'
import type { AppendOptions, SessionInfo } from '../session-store.js'
import { encodeText } from './text.js'

/** A batch as it will be stored: later changes of the caller's objects are not in it. */
export type EncodedBatch = {
  readonly types: readonly string[]
  /** JSON, without line breaks. */
  readonly texts: readonly string[]
  readonly lastAtMs: number | undefined
  /** The information about the session itself in the records. */
  readonly info: StoredInfo | undefined
}

/** The listed information about a session, without the time of its last record. */
export type StoredInfo = Omit<SessionInfo, 'id' | 'updatedAtMs'> & { readonly schemaVersion?: number }

/** `texts` has the JSON texts of records' data, if the caller has them. */
export function encodeBatch(records: readonly SessionRecord[], texts?: AppendOptions['json']): EncodedBatch {
  const { id: _, updatedAtMs: lastAtMs, ...info } = sessionInfo('', records)
  const versions = records.flatMap(({ type, data }) =>
    type === 'session' && typeof data.schemaVersion === 'number' ? [data.schemaVersion] : [],
  )
  return {
    types: records.map(({ type }) => type),
    texts: records.map(({ data }) => texts?.get(data) ?? JSON.stringify(data)),
    lastAtMs,
    info: versions.length === 0 ? undefined : { ...info, schemaVersion: Math.max(...versions) },
  }
}

/** Merges the information about a session with that of a new batch. */
export function mergeInfo(before: StoredInfo, after: StoredInfo): StoredInfo {
  return {
    ...before,
    ...after,
    schemaVersion: Math.max(before.schemaVersion ?? 0, after.schemaVersion ?? 0),
  }
}

export function parseInfo(text: string): StoredInfo {
  const value: unknown = JSON.parse(text)
  return isRecord(value) ? value : {}
}

/** Returns the columns of a session as JSON without line breaks and without characters that `->>` rejects. */
export function encodeInfo(info: StoredInfo): string {
  return JSON.stringify({
    info: JSON.stringify(info),
    schema_version: info.schemaVersion ?? 0,
    tenant: encodeText(info.labels?.['tenantId'] ?? '') || null,
    parent: encodeText(info.parentId ?? '') || null,
    workspace: encodeText(info.workspaceRoot ?? '') || null,
  })
}

/** The columns of rows of `records`, as arrays in the notation of Postgres; `texts` has one line per record. */
export type RecordColumns = {
  readonly sids: string
  readonly seqs: string
  readonly mores: string
  readonly crcs: string
  readonly types: string
  readonly texts: string
}

/** The rows of several batches, which are inserted with one statement. */
export class RecordRows {
  readonly #sids: number[] = []
  readonly #seqs: number[] = []
  readonly #mores: number[] = []
  readonly #crcs: number[] = []
  readonly #types: string[] = []
  readonly #texts: string[] = []

  /** Adds a batch whose first record gets the number `first`. */
  add(sid: number, first: number, { types, texts }: EncodedBatch): void {
    for (const [index, text] of texts.entries()) {
      const seq = first + index
      this.#sids.push(sid)
      this.#seqs.push(seq)
      this.#mores.push(texts.length - 1 - index)
      this.#crcs.push(checksum(text, seq))
      this.#types.push(types[index] ?? '')
      this.#texts.push(text)
    }
  }

  columns(): RecordColumns {
    return {
      sids: arrayOf(this.#sids),
      seqs: arrayOf(this.#seqs),
      mores: arrayOf(this.#mores),
      crcs: arrayOf(this.#crcs),
      types: arrayOf(this.#types),
      // JSON has no line breaks. The driver passes one long string unchanged; an array of strings would be escaped
      // twice.
      texts: this.#texts.join('\n'),
    }
  }
}

/** Returns the checksum of a record and its position, which detects a flipped bit and a moved row. */
export function checksum(text: string, seq: number): number {
  // As a signed number, which fits the type integer.
  return crc32(text, seq) | 0
}

/** Writes numbers and words without special characters as an array of Postgres. */
export function arrayOf(values: readonly (number | string | undefined)[]): string {
  return `{${values.map((value) => value ?? 'null').join(',')}}`
}
