import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { isRecord } from '../../tool/json.js'
import type { Environment } from '../config/reading.js'
import type { FileFields } from './fields.js'

/**
 * Replaces every `${NAME}` in the strings of a value by that environment variable. A variable that is not set or empty
 * is reported with its line, because a server without its token would fail later with a worse message. The values are
 * added to `used`, because they can be secrets.
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
    fields.fail(
      `${field} uses \${${name}}, which is not set: set the environment variable ${name}`,
      field,
      whole,
    )
    return ''
  })
  const stray = /\$\{[^}]{0,40}\}?/.exec(text.replace(/\$\{[A-Za-z_][A-Za-z0-9_]*\}/g, ''))
  if (stray !== null)
    fields.fail(`${field} has "\${" without a variable name: write \${NAME}`, field, stray[0])
  return result
}

/** Whether a value is a directory such as the home directory: redacting it would hide every path below it. */
function isPlace(value: string): boolean {
  return isAbsolute(value) && existsSync(value)
}
