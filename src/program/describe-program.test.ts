import { describe, expect, it } from 'vitest'
import type { ToolDefinition } from '../tool/definition.js'
import { createToolbox } from '../toolbox/toolbox.js'
import { describeProgram } from './describe-program.js'
import { createProgramMachine } from './machine/machine.js'
import { createProgramTool } from './program-tool.js'

const tool = (name: string): ToolDefinition => ({ name, description: '', parameters: { type: 'object' } })
const some = ['read', 'grep', 'program', 'write', 'todo'].map(tool)
const program = createProgramTool({ machine: createProgramMachine() })

describe('the description of programs', () => {
  it('declares ctx and the existing tools', () => {
    const text = describeProgram(some)
    expect(text).toContain('readFile(path, { offset, limit }?): string')
    expect(text).toContain('\ngrep(')
    expect(text).not.toContain('\nbash(')
    expect(text).not.toContain('verify(')
    expect(text).toContain('tools.<name>(args): Result')
  })

  it('takes at most 1,600 bytes of a request', () => {
    const others = createToolbox().map((one) => one.definition())
    const definition = program.definitionAmong?.(others)
    expect(Buffer.byteLength(JSON.stringify({ type: 'function', function: definition }))).toBeLessThanOrEqual(
      1_600,
    )
    expect(definition?.description).toContain('webSearch(query): Result')
    expect(definition?.parameters).toBe(program.definition().parameters)
  })
})
