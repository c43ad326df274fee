import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { Lease } from './session-store.js'

/** Thrown when another process holds the lease of this session. */
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

/** All codes of a {@link StoreError}. */
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
/** The code of a {@link StoreError}. */
export type StoreErrorCode = (typeof storeErrorCodes)[number]

/** Thrown when a store operation failed; everything that was acknowledged before is safe. */
export class StoreError extends CapstanError<StoreErrorCode> {}

markErrorClass(StoreError, 'StoreError')

/** Creates the error for callers that must not continue with a damaged log. */
export function damagedLog(sessionId: string, damage: string): StoreError {
  return new StoreError(
    'store_damaged',
    `Session '${sessionId}' cannot be resumed: ${damage}. The undamaged part can still be read.`,
  )
}

/** Creates the error for a write of a former holder, after another one has taken over the session. */
export function lostLease(sessionId: string): StoreError {
  return new StoreError(
    'store_lost_lease',
    `Session '${sessionId}' was taken over by another holder, or deleted, so nothing was written. Open it again to continue.`,
  )
}

/** Creates the error for writes after a failed write: the log must not have gaps. */
export function logFailed(sessionId: string, cause: Error): StoreError {
  const code = cause instanceof StoreError ? cause.code : 'store_failed'
  return new StoreError(
    code,
    `The log of session '${sessionId}' accepts no more records since a write failed: ${cause.message} Open the session again to continue.`,
    { cause },
  )
}
