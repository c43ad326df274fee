import { redactValue } from '../feature/redact-value.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'

/** Redacts the secrets that the log of the session also omits, for data that callers get in addition to the log. */
export function asRecorded<Value>(session: Session, value: Value): Value {
  const { record } = kernelOf(session).redactor
  return record === undefined ? value : redactValue(value, record)
}
