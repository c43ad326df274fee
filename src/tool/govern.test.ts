import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { isGovernedTool, type Tool } from './contract.js'
import { createTool } from './create-tool.js'
import { governTool } from './govern.js'
import { applyToolOutput, withoutOutputMiddleware } from './middleware.js'

const handWritten: Tool<{ n: number }, number> = {
  name: 'double',
  definition: async () => ({
    name: 'double',
    description: 'Double it.',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  }),
  call: ({ n }) => n * 2,
}

describe('governTool', () => {
  it('returns a tool with the full contract unchanged', async () => {
    const tool = createTool({ name: 't', description: 'd', input: z.object({}), execute: () => 1 })
    expect(isGovernedTool(tool)).toBe(true)
    expect(await governTool(tool)).toBe(tool)
  })

  it('adds the full contract to a hand-written tool', async () => {
    expect(isGovernedTool(handWritten)).toBe(false)
    const tool = await governTool(handWritten)
    expect(tool).toMatchObject({
      id: 'double',
      description: 'Double it.',
      requires: {},
      kind: 'other',
      idempotent: false,
    })
    expect(await tool.execute({ n: 2 })).toMatchObject({ type: 'output', data: 4 })
  })

  it('checks the arguments against the schema in the definition', async () => {
    const call = vi.fn(() => 1)
    const tool = await governTool({ ...handWritten, call })
    expect(await tool.execute({ n: 'two' })).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('- n: expected number; got "two" (string)'),
    })
    expect(call).not.toHaveBeenCalled()
  })

  it('copies the declared properties', async () => {
    const tool = await governTool({
      ...handWritten,
      requires: { capabilities: ['arithmetic'] },
      kind: 'think',
      limits: { maxBytes: 10 },
      idempotent: true,
      approval: { when: () => true },
      touches: () => [{ capability: 'arithmetic' }],
    })
    expect(tool).toMatchObject({
      requires: { capabilities: ['arithmetic'] },
      kind: 'think',
      limits: { maxBytes: 10 },
      idempotent: true,
    })
    expect(tool.approval).toBeDefined()
    expect(tool.touches({ n: 1 })).toEqual([{ capability: 'arithmetic' }])
  })

  it('shows policies the arguments parsed for approval, and passes the original arguments to call', async () => {
    const parse = (args: unknown): { n: number } => ({ n: Number((args as { n: string }).n) })
    const tool = await governTool({
      name: 'double',
      definition: () => ({
        name: 'double',
        description: 'd',
        parameters: { type: 'object', properties: { n: { type: 'string' } } },
      }),
      parseApprovalArgs: parse,
      call: (args) => parse(args).n * 2,
    })
    const prepared = await tool.prepare({ n: '21' })
    expect(prepared.ok && prepared.args).toEqual({ n: 21 })
    expect(await tool.execute({ n: '21' })).toMatchObject({ type: 'output', data: 42 })
  })

  it('returns an envelope when the tool’s own parsing throws', async () => {
    const tool = await governTool({
      ...handWritten,
      parseApprovalArgs: () => {
        throw new Error('nope')
      },
    })
    expect(await tool.execute({ n: 1 })).toMatchObject({
      type: 'error',
      error_text: 'The arguments of tool "double" could not be checked: nope',
    })
  })

  it('keeps the mark of a tool that is hidden from output middleware', async () => {
    const tool = await governTool(withoutOutputMiddleware({ ...handWritten }))
    const call = { toolName: 'double', turn: 1, internalCallId: 'i', args: '{}', result: 'as it is' }
    expect(await applyToolOutput([{ onToolOutput: () => 'changed' }], call, tool)).toEqual({
      result: 'as it is',
    })
  })

  it('rejects a tool whose definition fails', async () => {
    await expect(
      governTool({ ...handWritten, definition: () => Promise.reject(new Error('server gone')) }),
    ).rejects.toThrow('server gone')
  })
})
