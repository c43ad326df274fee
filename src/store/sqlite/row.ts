import type { SqlRow } from './driver.js'
import { damageFault } from './faults.js'

/** Returns a column of a row as text. A type other than the stored one means damage or another writer. */
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

/** Returns a column as bytes: one driver returns views, the other sometimes the buffer itself. */
export function bytesIn(row: SqlRow | undefined, column: string): Uint8Array {
  const value = row?.[column]
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  throw damageFault(`${column} should be bytes, and is ${typeof value}`)
}
