import { isRecord } from '../../tool/json.js'

/** The parameters of a request, as a client sent them. */
export type Params = Readonly<Record<string, unknown>>

/** A value that a client sent does not have the type that the method needs. */
export class ParamError extends TypeError {
  readonly field: string

  constructor(field: string, needed: string) {
    super(`The parameter "${field}" must be ${needed}.`)
    this.field = field
  }
}

export function textIn(params: Params, field: string): string {
  const value = params[field]
  if (typeof value !== 'string') throw new ParamError(field, 'a string')
  return value
}

export function optionalTextIn(params: Params, field: string): string | undefined {
  return isAbsent(params[field]) ? undefined : textIn(params, field)
}

export function numberIn(params: Params, field: string): number {
  const value = params[field]
  if (typeof value !== 'number') throw new ParamError(field, 'a number')
  return value
}

export function optionalNumberIn(params: Params, field: string): number | undefined {
  return isAbsent(params[field]) ? undefined : numberIn(params, field)
}

/** True only for `true`: anything else does not approve or enable anything. */
export function flagIn(params: Params, field: string): boolean {
  return params[field] === true
}

export function recordIn(params: Params, field: string): Params {
  const value = params[field]
  if (isAbsent(value)) return {}
  if (!isRecord(value)) throw new ParamError(field, 'an object')
  return value
}

export function listIn(params: Params, field: string): readonly unknown[] {
  const value = params[field]
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw new ParamError(field, 'a list')
  return value
}

export function textsIn(params: Params, field: string): readonly string[] {
  return listIn(params, field).map((value) => {
    if (typeof value !== 'string') throw new ParamError(field, 'a list of strings')
    return value
  })
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined
}
