import type { SqlRow } from './driver.js'
import { damageFault } from './faults.js'

/** Columns of a row by their type. SQLite keeps what it is given, so anything else was put there by damage or another hand. */
export function textIn(row: SqlRow | undefined, column: string): string {
  const value = row?.[column]
  if (typeof value !== 'string') throw damageFault(`${column} should be text, and is ${typeof value}`)
  return value
}

export function integerIn(row: SqlRow | undefined, column: string): number {
  const value = row?.[column]
  if (typeof value !== 'number') throw damageFault(`${column} should be a number, and is ${typeof value}`)
  return value
}

/** One driver gives views of bytes, the other sometimes the buffer itself. */
export function bytesIn(row: SqlRow | undefined, column: string): Uint8Array {
  const value = row?.[column]
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw damageFault(`${column} should be bytes, and is ${typeof value}`)
}
