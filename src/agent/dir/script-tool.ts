import type { ProgramMachine } from '../../program/index.js'
import { createProgramTool } from '../../program/program-tool.js'
import type { AnyGovernedTool } from '../../tool/contract.js'
import { createJsonTool } from '../../tool/create-json-tool.js'
import type { JsonObject, JsonValue } from '../../tool/json.js'
import type { ScriptToolDefinition } from './agent-dir.js'

/**
 * Creates the tool of a script: a call of `program` in which the file sets everything except the inputs. Each call of
 * the script passes the gate like a call of the model, and the script has only the tools that the file names.
 */
export function createScriptTool(
  definition: ScriptToolDefinition,
  machine?: ProgramMachine,
): AnyGovernedTool {
  const { name, description, path, allowedTools, limits, inputs } = definition
  const program = machine && createProgramTool({ machine })
  return createJsonTool<{ inputs?: JsonValue }>({
    name,
    description,
    kind: 'execute',
    ownTime: true,
    requires: { fs: { read: ['{workspace}/**'] } },
    parameters: {
      type: 'object',
      properties: { inputs: inputs ?? { type: 'object' } },
      ...(needsInputs(inputs) ? { required: ['inputs'] } : {}),
      additionalProperties: false,
    },
    touches: () => [{ fs: 'read', path }],
    pins: () => [path],
    execute: async (args, context) => {
      if (program === undefined) throw new Error('This host runs no programs.')
      const call = { path, inputs: args.inputs ?? {}, allowed_tools: [...allowedTools], limits }
      return program.execute(call, context)
    },
  })
}

function needsInputs(schema: JsonObject | undefined): boolean {
  return Array.isArray(schema?.['required']) && schema['required'].length > 0
}
