import { realpathSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { maxSourceBytes, type ProgramLimits, programLimits } from '../../program/machine/limits.js'
import { messageOf, tryOr } from '../../tool/errors.js'
import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { lookInside } from '../../workspace/files/quick-look.js'
import { isInside } from '../../workspace/inside.js'
import type { ScriptToolDefinition } from './agent-dir.js'
import type { FileFields } from './fields.js'
import { createScriptTool } from './script-tool.js'

const known = ['kind', 'name', 'description', 'path', 'allowed_tools', 'limits', 'inputs']

/** Reads a tool file of `kind: script`. With a workspace, the script is checked as well. */
export function readScriptTool(
  name: string,
  allowedTools: readonly string[],
  fields: FileFields,
  workspace: string | undefined,
): ScriptToolDefinition | undefined {
  fields.refuseOthers(known)
  if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
    return fields.fail(
      'name must be 1 to 64 letters, digits, "_" and "-", and start with a letter',
      fields.named('name'),
    )
  const description = fields.text('description') ?? fields.body
  if (description === '')
    fields.fail(`the tool '${name}' has no description: write it after the front matter`)
  const limits = readLimits(fields)
  const inputs = fields.object('inputs') as JsonObject | undefined
  const path = readPath(name, fields, workspace)
  if (path === undefined) return undefined
  const definition: ScriptToolDefinition = {
    ...{ kind: 'script', name, file: fields.file.file, description, path, limits },
    allowedTools,
    ...omitUndefined({ inputs }),
  }
  try {
    createScriptTool(definition)
  } catch (error) {
    return fields.fail(`inputs is not a JSON Schema: ${messageOf(error)}`, 'inputs')
  }
  return definition
}

function readLimits(fields: FileFields): Partial<ProgramLimits> {
  const given = fields.object('limits') ?? {}
  for (const [name, value] of Object.entries(given)) {
    try {
      programLimits({ [name]: value })
    } catch (error) {
      fields.fail(`invalid limits: ${messageOf(error)}`, 'limits', name)
    }
  }
  return given
}

function readPath(name: string, fields: FileFields, workspace: string | undefined): string | undefined {
  const path = fields.text('path')
  if (path === undefined)
    return fields.named('path') === undefined
      ? fields.fail(`the tool '${name}' has no path: add a field such as path: scripts/${name}.js`)
      : undefined
  const problem = problemWith(path) ?? (workspace && problemInside(workspace, path))
  return problem === undefined ? path : fields.fail(`path '${path.slice(0, 200)}' ${problem}`, 'path')
}

function problemWith(path: string): string | undefined {
  if (isAbsolute(path) || /^(?:[A-Za-z]:|~)/.test(path))
    return 'is not relative: the path of a script is relative to the workspace'
  if (path.split(/[/\\]/).includes('..')) return 'escapes the workspace: it must not contain ".."'
  if (/[\\\0]/.test(path)) return 'contains an invalid character: separate names with "/"'
  return /\.(?:js|mjs|ts)$/.test(path) ? undefined : 'is not a script: it must end in .js, .mjs or .ts'
}

function problemInside(workspace: string, path: string): string | undefined {
  const real = tryOr(() => realpathSync.native(join(workspace, path)), undefined)
  if (real === undefined) return 'does not exist in the workspace'
  if (!isInside(workspace, real)) return 'escapes the workspace through a symbolic link'
  const source = lookInside(workspace).text(relative(workspace, real), maxSourceBytes)
  if (source === undefined)
    return `cannot be read: a script is a regular file of at most ${maxSourceBytes} bytes`
  return /\brun\b|\bexport\s+default\b/.test(source)
    ? undefined
    : 'defines no program: write async function run(ctx, inputs) { ... }'
}
