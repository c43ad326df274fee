import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { Lease } from './session-store.js'

/** Somebody else writes this session. */
export class SessionLockedError extends CapstanError {
  readonly lease: Lease

  constructor(sessionId: string, lease: Lease) {
    super(
      'session_locked',
      `Session '${sessionId}' is held by ${lease.holder} (process ${lease.pid} on ${lease.host}). Close it there, or wait until that process has ended.`,
    )
    this.lease = lease
  }
}

markErrorClass(SessionLockedError, 'SessionLockedError')

export const storeErrorCodes = [
  'store_unwritable',
  'store_full',
  'store_failed',
  'store_lost_lease',
  'store_stale',
  'store_closed',
  'store_future_schema',
  'store_bad_id',
  'store_damaged',
  'store_not_found',
] as const
export type StoreErrorCode = (typeof storeErrorCodes)[number]

/** A store could not do what it was asked; nothing that was acknowledged before is affected. */
export class StoreError extends CapstanError {
  declare readonly code: StoreErrorCode

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options)
  }
}

markErrorClass(StoreError, 'StoreError')

/** For those who must not go on with what is left. */
export function damagedLog(sessionId: string, damage: string): StoreError {
  return new StoreError(
    'store_damaged',
    `Session '${sessionId}' cannot be gone on with: ${damage}. What is whole can still be read.`,
  )
}
