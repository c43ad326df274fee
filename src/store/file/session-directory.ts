import { createHash } from 'node:crypto'
import { StoreError } from '../errors.js'

/**
 * Returns the directory name of a session: its id, in which every character that some system treats specially is
 * written as `%xx`. Upper case letters too, because `A` and `a` are the same file on many disks. Ids that are too long
 * for a name are cut and distinguished by a digest.
 */
export function directoryName(sessionId: string): string {
  if (sessionId === '') throw badId('it is empty')
  const encoded = encodeId(sessionId)
  if (encoded.length <= maxNameLength) return encoded
  const digest = createHash('sha256').update(sessionId).digest('hex')
  return `${encoded.slice(0, keptOfLongName)}${longMark}${digest}`
}

/**
 * Returns the session id of a directory; undefined for other directories, and for names without the id (see
 * `isLongName`).
 */
export function sessionIdOf(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name)
    return directoryName(id) === name ? id : undefined
  } catch {
    return undefined
  }
}

/** The file that contains the id, in a directory that is named by a digest. */
export const idName = 'id'

/** Returns whether the name is a digest, so that the id is in a file inside the directory. */
export function isLongName(name: string): boolean {
  return /^[a-z0-9._%-]*~[0-9a-f]{64}$/.test(name)
}

const maxNameLength = 160
const keptOfLongName = 60
const longMark = '~'

function encodeId(sessionId: string): string {
  return wellFormed(sessionId)
    .replace(/[A-Z!'()*~]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
    .replace(/^\./, '%2e')
    .replace(/\.$/, '%2e')
    .replace(/^(con|prn|aux|nul|com\d|lpt\d)(?=$|\.)/, deviceName)
}

/** Encodes the first character of a name that Windows treats as a device, with any extension. */
function deviceName(name: string): string {
  return `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
}

function wellFormed(sessionId: string): string {
  try {
    return encodeURIComponent(sessionId).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
  } catch (error) {
    throw badId('it contains half of a surrogate pair', error)
  }
}

function badId(problem: string, cause?: unknown): StoreError {
  return new StoreError('store_bad_id', `This cannot be the id of a session: ${problem}.`, { cause })
}
