import { isRecord } from '../tool/json.js'
import type { Params } from './method.js'
import { invalidParams } from './rpc-error.js'

/** Reads a required string parameter. */
export function textIn(params: Params, name: string): string {
  const value = params[name]
  if (typeof value !== 'string' || value === '')
    throw invalidParams(`${name} must be a string that is not empty.`)
  return value
}

/** Reads a list of objects from the parameters; empty if absent. */
export function objectsIn(params: Params, name: string): readonly Params[] {
  const value = params[name] ?? []
  if (!Array.isArray(value) || !value.every(isRecord))
    throw invalidParams(`${name} must be a list of objects.`)
  return value
}

/** Reads a list of strings from the parameters; empty if absent. */
export function textsIn(params: Params, name: string): readonly string[] {
  const value = params[name] ?? []
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    throw invalidParams(`${name} must be a list of strings.`)
  return value
}
