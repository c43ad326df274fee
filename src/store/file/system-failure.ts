import { CapstanError } from '../../tool/errors.js'
import { StoreError, type StoreErrorCode } from '../errors.js'
import { errnoOf } from './file-layer.js'

/** What the system refused, as an error of the store. Errors that are ours already, and mistakes in arguments, stay as they are. */
export function storeFailure(thrown: unknown, sessionId: string, doing: string): unknown {
  const errno = errnoOf(thrown)
  if (errno === undefined || thrown instanceof CapstanError || errno.startsWith('ERR_')) return thrown
  const [code, words] = meanings[errno] ?? ['store_failed', 'the system refused']
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
  ENOTDIR: ['store_unwritable', 'a file stands where a directory has to be; move it away'],
  EISDIR: ['store_unwritable', 'a directory stands where a file has to be; move it away'],
  ELOOP: ['store_unwritable', 'a symbolic link stands where a file has to be; remove it'],
  ENOENT: ['store_failed', 'its directory is gone; open the session again to begin a new one'],
  EMFILE: ['store_failed', tooMany],
  ENFILE: ['store_failed', tooMany],
  EIO: ['store_failed', 'the disk reported an error; check it before going on'],
}
