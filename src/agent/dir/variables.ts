import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { isRecord } from '../../tool/json.js'
import type { Environment } from '../config/reading.js'
import type { FileFields } from './fields.js'

/**
 * The same value with every `${NAME}` in its texts replaced by the variable of that name. One that is not set, or empty, is told with
 * the line that it stands on: a server that is started without its token would fail later, and say less. What they stand for is put
 * into `used`: it may be a secret wherever it was put, whole or as a part.
 */
export function withVariables(
  value: unknown,
  field: string,
  fields: FileFields,
  env: Environment,
  used: Set<string>,
): unknown {
  if (typeof value === 'string') return replaced(value, field, fields, env, used)
  if (Array.isArray(value)) return value.map((one) => withVariables(one, field, fields, env, used))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withVariables(one, field, fields, env, used)]),
  )
}

function replaced(
  text: string,
  field: string,
  fields: FileFields,
  env: Environment,
  used: Set<string>,
): string {
  const result = text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && value !== '') {
      if (!isPlace(value)) used.add(value)
      return value
    }
    fields.fail(`${field} names \${${name}}, which is not set: set the variable ${name}`, field, whole)
    return ''
  })
  const stray = /\$\{[^}]{0,40}\}?/.exec(text.replace(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g, ''))
  if (stray !== null)
    fields.fail(`${field} holds "\${" that names no variable: write \${NAME}`, field, stray[0])
  return result
}

/** A directory such as the user's own is no secret: taken out of texts, no path below it could be read. */
function isPlace(value: string): boolean {
  return isAbsolute(value) && existsSync(value)
}
