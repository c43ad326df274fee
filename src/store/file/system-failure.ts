import { CapstanError } from '../../tool/errors.js'
import { StoreError, type StoreErrorCode } from '../errors.js'
import { errnoOf } from './file-layer.js'

/**
 * Converts an error of the system to an error of the store. Errors of this package, and wrong arguments, are returned
 * unchanged.
 */
export function storeFailure(thrown: unknown, sessionId: string, doing: string): unknown {
  const errno = errnoOf(thrown)
  if (errno === undefined || thrown instanceof CapstanError || errno.startsWith('ERR_')) return thrown
  const [code, words] = meanings[errno] ?? ['store_failed', 'the system reported an error']
  return new StoreError(
    code,
    `Session '${sessionId}' could not be ${doing} (${errno}): ${words}. What was acknowledged before is safe.`,
    { cause: thrown },
  )
}

const full = 'free some space, then open the session again'
const forbidden = 'give this process the permission to write in the directory of the store'
const tooMany = 'too many files are open; close some sessions or raise the limit, then open it again'

const meanings: Readonly<Record<string, readonly [StoreErrorCode, string]>> = {
  ENOSPC: ['store_full', `the disk is full; ${full}`],
  EDQUOT: ['store_full', `the disk quota is used up; ${full}`],
  EFBIG: ['store_full', `a file may not grow further here; ${full}`],
  EACCES: ['store_unwritable', `access is denied; ${forbidden}`],
  EPERM: ['store_unwritable', `it is not permitted; ${forbidden}`],
  EROFS: ['store_unwritable', 'the file system is read-only; choose another directory for the store'],
  ENOTDIR: ['store_unwritable', 'there is a file where a directory is needed; move it away'],
  EISDIR: ['store_unwritable', 'there is a directory where a file is needed; move it away'],
  ELOOP: ['store_unwritable', 'there is a symbolic link where a file is needed; remove it'],
  ENOENT: ['store_failed', 'its directory no longer exists; open the session again to start a new one'],
  EMFILE: ['store_failed', tooMany],
  ENFILE: ['store_failed', tooMany],
  EIO: ['store_failed', 'the disk reported an error; check it before you continue'],
}
