import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { StoreError, type StoreErrorCode } from '../errors.js'

/**
 * An error of the driver, or one that the server reported. Other errors, of callers and of libraries that use the
 * driver, contain no information about the connection.
 */
class DriverFault extends Error {
  /** The SQLSTATE, or the code of the system. */
  readonly code: unknown

  constructor(cause: unknown) {
    super(messageOf(cause), { cause })
    this.code = isRecord(cause) ? cause['code'] : undefined
  }
}

/** Wraps the error that a call of the driver rejects with. */
export async function fromDriver<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call
  } catch (thrown) {
    throw new DriverFault(thrown)
  }
}

/** Converts an error of the driver or the server to an error of the store. Errors of callers are returned unchanged. */
export function storeErrorOf(thrown: unknown, place: string): unknown {
  if (!(thrown instanceof DriverFault)) return thrown
  const { code, advice } = problemOf(thrown.cause)
  return new StoreError(code, `The database ${place} ${advice} (Postgres: ${thrown.message})`, {
    cause: thrown,
  })
}

/**
 * Whether the same work can succeed later: the server cannot be reached, does not accept connections now, or ended this
 * one; or the work conflicted with other work on the same rows. It is not known whether the work was done.
 */
export function isPassing(thrown: unknown): boolean {
  if (!(thrown instanceof DriverFault)) return false
  const state = sqlState(thrown.cause)
  if (state === undefined) return isConnectionError(thrown.cause)
  return state.startsWith('08') || passing.has(state)
}

const passing: ReadonlySet<string> = new Set([
  // Serialization failure, deadlock.
  ...['40001', '40P01'],
  // Too many connections; the server is stopping, has crashed, or is starting; it ended an idle session.
  ...['53300', '57P01', '57P02', '57P03', '57P05', '25P03'],
  // The lock timeout of a migration.
  '55P03',
])

/** The SQLSTATE of an error that the server reported. */
function sqlState(thrown: unknown): string | undefined {
  const { code, severity } = isRecord(thrown) ? thrown : {}
  return typeof code === 'string' && severity !== undefined ? code : undefined
}

/** The driver's own errors about a connection have no code; those of the system have a name such as `ECONNREFUSED`. */
function isConnectionError(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof TypeError || thrown instanceof SyntaxError) return false
  if (thrown instanceof AggregateError) return thrown.errors.every(isConnectionError)
  const code = 'code' in thrown ? thrown.code : undefined
  return code === undefined || (typeof code === 'string' && connectionCodes.has(code))
}

const connectionCodes: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  // The socket of a local server that is not running; a name server that does not answer at the moment.
  ...['ENOENT', 'EAI_AGAIN'],
])

type Problem = { readonly code: StoreErrorCode; readonly advice: string }

function problemOf(thrown: unknown): Problem {
  const state = sqlState(thrown)
  if (state === undefined)
    return isConnectionError(thrown)
      ? { code: 'store_failed', advice: 'cannot be reached; check that it runs and that the URL is right' }
      : anyProblem
  return problems[state] ?? problems[state.slice(0, 2)] ?? anyProblem
}

const anyProblem: Problem = { code: 'store_failed', advice: 'could not complete the operation' }
const notMigrated: Problem = {
  code: 'store_failed',
  advice: "does not have the tables of Capstan in this schema; run 'capstan migrate', or call migrate()",
}
const damaged: Problem = {
  code: 'store_damaged',
  advice: 'is damaged; restore it from a backup',
}
const unwritable = (why: string): Problem => ({ code: 'store_unwritable', advice: why })

/** By SQLSTATE, or by its class. */
const problems: Readonly<Record<string, Problem>> = {
  '08': { code: 'store_failed', advice: 'ended the connection' },
  '25006': unwritable('is read-only; connect to the primary server, or make the database writable'),
  '28': unwritable('refuses this user; check the user and the password of the URL'),
  '3D000': unwritable('does not exist; create it, or correct the URL'),
  '3F000': notMigrated,
  '42P01': notMigrated,
  '42703': notMigrated,
  '42501': unwritable(
    'does not give this role the necessary rights; see the role script in docs/postgres.md',
  ),
  '53100': {
    code: 'store_full',
    advice: 'could not grow: its disk is full, and nothing of this step was saved. Free some space',
  },
  '53': { code: 'store_failed', advice: 'has no resources left' },
  '54000': {
    code: 'store_failed',
    advice: 'does not accept a record this large; store large content as a blob',
  },
  '57': { code: 'store_failed', advice: 'is stopping or starting' },
  XX001: damaged,
  XX002: damaged,
}
