import { StoreError } from '../errors.js'

/**
 * Encodes any text for a column of the type text, which cannot contain the character 0 or half of a surrogate pair.
 * Different texts have different encodings.
 */
export function encodeText(text: string): string {
  return /[\0\\]|\p{Surrogate}/u.test(text)
    ? text.replace(
        /[\0\\]|\p{Surrogate}/gu,
        (unit) => `\\${unit === '\\' ? '\\' : `u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`}`,
      )
    : text
}

export function decodeText(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\(?:u([0-9a-f]{4})|\\)/g, (_, hex: string | undefined) =>
        hex === undefined ? '\\' : String.fromCharCode(Number.parseInt(hex, 16)),
      )
    : text
}

/** Returns the encoded id of a session. An index entry of Postgres has at most 2,704 bytes. */
export function encodeId(sessionId: string): string {
  const encoded = encodeText(sessionId)
  if (sessionId !== '' && !/\p{Surrogate}/u.test(sessionId) && Buffer.byteLength(encoded) <= maxIdBytes)
    return encoded
  const problem =
    sessionId === ''
      ? 'it is empty'
      : /\p{Surrogate}/u.test(sessionId)
        ? 'it contains half of a surrogate pair'
        : `it has more than ${maxIdBytes} bytes`
  throw new StoreError('store_bad_id', `This cannot be the id of a session: ${problem}.`)
}

const maxIdBytes = 2_000
