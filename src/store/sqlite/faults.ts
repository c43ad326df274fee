import { CapstanError, messageOf } from '../../tool/errors.js'
import { StoreError, type StoreErrorCode } from '../errors.js'
import { SqliteFault } from './driver.js'

/** Converts an error of the database file to an error of the store. */
export function storeErrorOf(thrown: unknown, file: string): CapstanError {
  if (thrown instanceof CapstanError) return thrown
  const options = { cause: thrown }
  if (thrown instanceof SqliteFault) {
    const { code, advice } = problems[thrown.resultCode & 0xff] ?? anyProblem
    return new StoreError(code, `The session database ${file} ${advice} (SQLite: ${thrown.message})`, options)
  }
  const unwritable = thrown instanceof Error && 'syscall' in thrown
  return new StoreError(
    unwritable ? 'store_unwritable' : 'store_failed',
    `The session database ${file} cannot be used: ${messageOf(thrown)}`,
    options,
  )
}

export function isBusy(thrown: unknown): boolean {
  return thrown instanceof SqliteFault && [5, 6].includes(thrown.resultCode & 0xff)
}

export function isDamage(thrown: unknown): boolean {
  return thrown instanceof SqliteFault && problems[thrown.resultCode & 0xff]?.code === 'store_damaged'
}

/** Creates the fault that SQLite reports for an inconsistent file, for damage that only this store can detect. */
export function damageFault(message: string): SqliteFault {
  return new SqliteFault(11, message)
}

type Problem = { readonly code: StoreErrorCode; readonly advice: string }

const busy: Problem = {
  code: 'store_failed',
  advice: 'is locked by another process; end what holds it and try again',
}
const unwritable: Problem = {
  code: 'store_unwritable',
  advice: 'cannot be opened for writing; check that its directory exists and the permissions of both',
}
const damaged: Problem = {
  code: 'store_damaged',
  advice:
    "is damaged or not a SQLite database. Set it aside, and recover what is possible with: sqlite3 FILE '.recover'",
}
const anyProblem: Problem = { code: 'store_failed', advice: 'could not complete the operation' }

/** Problems by primary result code. */
const problems: Readonly<Record<number, Problem>> = {
  3: unwritable,
  5: busy,
  6: busy,
  8: unwritable,
  10: {
    code: 'store_failed',
    advice: 'could not be read or written; nothing of this step was saved. Check the disk',
  },
  11: damaged,
  13: {
    code: 'store_full',
    advice: 'could not grow: the disk is full, and nothing of this step was saved. Free some space',
  },
  14: unwritable,
  18: { code: 'store_failed', advice: 'does not accept a record this large; store large content as a blob' },
  26: damaged,
}
