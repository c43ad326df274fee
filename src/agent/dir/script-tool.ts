import type { ProgramMachine } from '../../program/index.js'
import { createProgramTool } from '../../program/program-tool.js'
import type { AnyGovernedTool } from '../../tool/contract.js'
import { createJsonTool } from '../../tool/create-json-tool.js'
import type { JsonObject, JsonValue } from '../../tool/json.js'
import type { ScriptToolDefinition } from './agent-dir.js'

/**
 * The tool of a script: a call of `program` of which the file has fixed everything but the inputs. Each call that the script makes walks
 * the gate as the model's own, and only tools that the file names are there for it.
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
      ...(needsInputs(inputs) && { required: ['inputs'] }),
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
