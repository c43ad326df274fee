import { isRecord } from '../../tool/json.js'
import type { Params } from '../method.js'
import { invalidParams } from '../rpc-error.js'

/** Reads a required string; it can be empty, such as the content of a file. */
export function stringIn(params: Params, field: string): string {
  const value = params[field]
  if (typeof value !== 'string') throw invalidParams(`${field} must be a string.`)
  return value
}

export function optionalStringIn(params: Params, field: string): string | undefined {
  return isAbsent(params[field]) ? undefined : stringIn(params, field)
}

export function numberIn(params: Params, field: string): number {
  const value = params[field]
  if (typeof value !== 'number') throw invalidParams(`${field} must be a number.`)
  return value
}

export function optionalNumberIn(params: Params, field: string): number | undefined {
  return isAbsent(params[field]) ? undefined : numberIn(params, field)
}

/** True only for `true`: no other value approves or enables anything. */
export function flagIn(params: Params, field: string): boolean {
  return params[field] === true
}

export function recordIn(params: Params, field: string): Params {
  const value = params[field]
  if (isAbsent(value)) return {}
  if (!isRecord(value)) throw invalidParams(`${field} must be an object.`)
  return value
}

export function listIn(params: Params, field: string): readonly unknown[] {
  const value = params[field]
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw invalidParams(`${field} must be a list.`)
  return value
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined
}
