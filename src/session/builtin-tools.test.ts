import { describe, expect, it } from 'vitest'
import { createProgramMachine } from '../program/machine/machine.js'
import { createProgramTool } from '../program/program-tool.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { toolSearchTool } from '../toolbox/tool-search.js'
import { builtinTools } from './builtin-tools.js'
import { dataForms, hostTools } from './host-tools.js'

// They are made without a look at their schemas (`builtInTool`), so that no session waits for it.
const tools = [
  ...builtinTools({}, []),
  toolSearchTool,
  createProgramTool({ machine: createProgramMachine() }),
  ...hostTools.values(),
  ...dataForms.values(),
]

describe('the schema of every tool of our own', () => {
  it.each(tools.map((tool) => [tool.name, tool] as const))('is one: %s', (_, tool) => {
    const { parameters } = tool as { parameters?: Parameters<typeof compileJsonSchema>[0] }
    expect(parameters).toMatchObject({ type: 'object' })
    expect(() => compileJsonSchema({ ...parameters })).not.toThrow()
  })
})
