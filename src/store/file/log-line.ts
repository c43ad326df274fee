import { crc32 } from 'node:zlib'
import type { SessionRecord } from '../records.js'
import type { AppendOptions } from '../session-store.js'

/**
 * Encodes records as lines `{"type":…,"data":…,"crc":"1a2b3c4d"}`. The checksum covers everything before its own
 * field, from the beginning of the file: it detects a changed byte and a line that is missing, repeated or moved, and
 * one comparison checks any number of lines. In a batch of several lines each but the last begins with `"more"`, the
 * number of lines that follow, so that an incomplete batch is recognised. `texts` has the JSON texts of records' data,
 * if the caller has them.
 */
export function encodeBatch(
  records: readonly SessionRecord[],
  checksumBefore: number,
  texts?: AppendOptions['json'],
): EncodedBatch {
  let text = ''
  let sum = checksumBefore
  let seal = ''
  for (let at = 0; at < records.length; at++) {
    const { type, data } = records[at] as SessionRecord
    const more = records.length - 1 - at
    const start = more === 0 ? '{' : `{"more":${more},`
    const payload = `${start}"type":${JSON.stringify(type)},"data":${texts?.get(data) ?? JSON.stringify(data)}`
    // Includes the end of the previous line, which the checksum also covers, so that each line needs only one call.
    sum = crc32(seal + payload, sum)
    seal = sealOf(sum)
    text += payload + seal
  }
  return { bytes: Buffer.from(text), checksum: crc32(seal, sum) }
}

/** Returns the checksum up to the end of a line, for the next line. */
export function checksumAfter(sealed: number): number {
  return crc32(sealOf(sealed), sealed)
}

function sealOf(sum: number): string {
  return `,"crc":"${sum.toString(16).padStart(8, '0')}"}\n`
}

export type EncodedBatch = { readonly bytes: Buffer; readonly checksum: number }

/** The length of the end of a line that its checksum does not cover, without the newline. */
export const sealLength = ',"crc":"00000000"}'.length

/** Returns the checksum of the line that ends at `end` (its newline); -1 when the line has no valid end. */
export function sealAt(bytes: Buffer, end: number): number {
  const start = end - sealLength
  if (start < 0) return -1
  for (let at = 0; at < opening.length; at++) if (bytes[start + at] !== opening[at]) return -1
  if (bytes[end - 2] !== quote || bytes[end - 1] !== brace) return -1
  let checksum = 0
  for (let at = start + opening.length; at < end - 2; at++) {
    const digit = digitOf(bytes[at])
    if (digit < 0) return -1
    checksum = checksum * 16 + digit
  }
  return checksum
}

const opening = Buffer.from(',"crc":"')
const quote = 0x22
const brace = 0x7d

/** Parses a hexadecimal digit. Accepts only lower case: a flipped bit can turn a letter into upper case. */
function digitOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1
}

/** Returns how many lines of its batch follow this one. */
export function moreAfter(bytes: Buffer, start: number): number {
  for (let at = 0; at < moreOpening.length; at++) if (bytes[start + at] !== moreOpening[at]) return 0
  return Number.parseInt(
    bytes.toString('latin1', start + moreOpening.length, start + moreOpening.length + 12),
    10,
  )
}

const moreOpening = Buffer.from('{"more":')
