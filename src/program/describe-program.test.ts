import { describe, expect, it } from 'vitest'
import type { ToolDefinition } from '../tool/definition.js'
import { describeProgram } from './describe-program.js'
import { createProgramMachine } from './machine/machine.js'
import { createProgramTool } from './program-tool.js'

const tool = (name: string, properties: object = {}, required: string[] = []): ToolDefinition => ({
  name,
  description: '',
  parameters: { type: 'object', properties, required },
})

const some = [
  tool('read'),
  tool('grep'),
  tool('program'),
  tool('write', { file_path: { type: 'string' }, content: { type: 'string' } }, ['file_path', 'content']),
  tool('todo', {
    todos: {
      type: 'array',
      items: { type: 'object', properties: { content: { type: 'string' }, status: { enum: ['a', 'b'] } } },
    },
    count: { type: 'integer' },
  }),
]

describe('what a model is told of programs', () => {
  it('declares ctx and the tools that there are', () => {
    const text = describeProgram(some)
    expect(text).toContain('ctx.readFile(path: string')
    expect(text).toContain('ctx.grep(')
    expect(text).not.toContain('ctx.bash(')
    expect(text).toContain(
      'ctx.tools: write({ file_path: string, content: string }), todo({ todos?: { content: string, status: "a" | "b" }[], count?: number })',
    )
    expect(text).not.toContain('program(')
  })

  it('stays short, whatever there is', () => {
    const many = Array.from({ length: 300 }, (_, at) =>
      tool(`a_tool_with_a_long_name_${at}`, { argument: { type: 'string' } }),
    )
    for (const tools of [[], some, [...some, ...many]])
      expect(describeProgram(tools).length).toBeLessThanOrEqual(1_500)
    expect(describeProgram([...some, ...many])).toContain('a_tool_with_a_long_name_0')
  })

  it('changes only when the tools do', () => {
    let tools: readonly ToolDefinition[] = some
    const program = createProgramTool({ machine: createProgramMachine(), tools: () => tools })
    const first = program.definition()
    expect(program.definition()).toBe(first)
    expect(program.description).toBe(first.description)
    tools = [...some, tool('bash')]
    expect(program.definition().description).toContain('ctx.bash(')
    expect(program.definition().parameters).toBe(first.parameters)
  })
})
