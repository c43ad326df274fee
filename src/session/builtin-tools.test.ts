import { describe, expect, it } from 'vitest'
import { memoryTools } from '../memory/memory-tools.js'
import { createProgramMachine } from '../program/machine/machine.js'
import { createProgramTool } from '../program/program-tool.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { toolSearchTool } from '../toolbox/tool-search.js'
import { builtinTools } from './builtin-tools.js'
import { dataForms, hostTools } from './host-tools.js'
import { builtinToolNames, optionalToolNames } from './tool-names.js'

// They are made without a look at their schemas (`builtInTool`), so that no session waits for it.
const tools = [
  ...builtinTools({}, []),
  toolSearchTool,
  createProgramTool({ machine: createProgramMachine() }),
  ...hostTools.values(),
  ...dataForms.values(),
]

it('has the names of the tools that can be chosen, and of those that options add', () => {
  const made = [...builtinTools({}, []).map(({ name }) => name), 'program']
  expect([...builtinToolNames].sort()).toEqual(made.sort())
  expect(optionalToolNames).toEqual(memoryTools.map(({ name }) => name))
})

describe('the schema of every built-in tool', () => {
  it.each(tools.map((tool) => [tool.name, tool] as const))('is valid: %s', (_, tool) => {
    const { parameters } = tool as { parameters?: Parameters<typeof compileJsonSchema>[0] }
    expect(parameters).toMatchObject({ type: 'object' })
    expect(() => compileJsonSchema({ ...parameters })).not.toThrow()
  })
})
