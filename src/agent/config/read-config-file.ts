import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { maxDocumentBytes } from './acl/limits.js'

/** Reads a configuration file: a regular UTF-8 file of a limited size. */
export async function readConfigFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a pipe without a writer would block forever.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a regular file')
    const bytes = Buffer.alloc(maxDocumentBytes + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length)
      length += bytesRead
      if (bytesRead === 0) break
      if (length > maxDocumentBytes)
        throw new Error(`it is larger than ${maxDocumentBytes / 1024 / 1024} MiB`)
    }
    return decode(bytes.subarray(0, length))
  } finally {
    await file.close()
  }
}

export function isAbsent(thrown: unknown): boolean {
  return isRecord(thrown) && ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].some((code) => code === thrown['code'])
}

/** Why a file could not be read. The message of the system is not used, because it contains the absolute path. */
export function reasonOf(thrown: unknown): string {
  const code = isRecord(thrown) ? thrown['code'] : undefined
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'the file does not exist'
    case 'EACCES':
    case 'EPERM':
      return 'permission denied'
    case 'EISDIR':
      return 'it is a directory'
    default:
      return typeof code === 'string' ? code : messageOf(thrown)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Error('it is not UTF-8 text', { cause })
  }
}
