import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { importCopy } from '../../test/support/second-copy.js'
import type { Tool } from './contract.js'
import { createTool } from './create-tool.js'
import { ToolCallError, ToolJsonError, ToolNotFoundError } from './errors.js'
import { ToolSet } from './tool-set.js'
import { ToolInputError } from './validation.js'

const tool = (name: string, call: Tool['call'] = () => name): Tool => ({
  name,
  definition: (prompt) => ({ name, description: `${name} ${prompt}`.trim(), parameters: { type: 'object' } }),
  call,
})
const names = (set: ToolSet): string[] => set.values().map(({ name }) => name)

describe('ToolSet', () => {
  it('stores tools by name, in order', () => {
    const set = ToolSet.fromTools([tool('a'), tool('b')])
    expect(names(set)).toEqual(['a', 'b'])
    expect(set.contains('a')).toBe(true)
    expect(set.contains('c')).toBe(false)
    expect(set.get('b')?.name).toBe('b')
    expect(set.get('c')).toBeUndefined()
  })

  it('adds one, several, or another set, and can be chained', () => {
    const set = new ToolSet()
      .addTool(tool('a'))
      .addTools([tool('b')])
      .addTools(ToolSet.fromTools([tool('c')]))
    expect(names(set)).toEqual(['a', 'b', 'c'])
  })

  it('replaces a tool of the same name at its position', () => {
    const second = tool('a')
    const set = ToolSet.fromTools([tool('a'), tool('b')]).addTool(second)
    expect(names(set)).toEqual(['a', 'b'])
    expect(set.get('a')).toBe(second)
  })

  it('deletes by name and returns whether there was one', () => {
    const set = ToolSet.fromTools([tool('a')])
    expect(set.deleteTool('a')).toBe(true)
    expect(set.deleteTool('a')).toBe(false)
    expect(set.values()).toEqual([])
  })

  it('returns copies: changing them does not change the set', () => {
    const set = ToolSet.fromTools([tool('a')])
    set.values().pop()
    expect(set.contains('a')).toBe(true)
  })

  it('lists definitions in order, for the prompt', async () => {
    const set = ToolSet.fromTools([tool('a'), tool('b')])
    expect((await set.getToolDefinitions('now')).map(({ description }) => description)).toEqual([
      'a now',
      'b now',
    ])
    expect((await set.getToolDefinitions()).map(({ description }) => description)).toEqual(['a', 'b'])
  })

  it('rejects when a definition fails, also when it throws synchronously', async () => {
    const broken = {
      ...tool('a'),
      definition: () => {
        throw new Error('no definition')
      },
    }
    await expect(ToolSet.fromTools([broken]).getToolDefinitions()).rejects.toThrow('no definition')
  })

  it('requests definitions one after the other, so that no failure is unhandled', async () => {
    const later = { ...tool('a'), definition: () => Promise.reject(new Error('later')) }
    const never = { ...tool('b'), definition: vi.fn() }
    await expect(ToolSet.fromTools([later, never]).getToolDefinitions()).rejects.toThrow('later')
    expect(never.definition).not.toHaveBeenCalled()
  })

  it('is recognised when another copy of the package made it', async () => {
    const other = await importCopy<typeof import('./tool-set.js')>(new URL('./tool-set.js', import.meta.url))
    expect(other.ToolSet).not.toBe(ToolSet)
    expect(new other.ToolSet() instanceof ToolSet).toBe(true)
    expect(names(new ToolSet().addTools(other.ToolSet.fromTools([tool('a')]) as never))).toEqual(['a'])
    class Own extends ToolSet {}
    expect(new ToolSet() instanceof Own).toBe(false)
    expect(({} as unknown) instanceof ToolSet).toBe(false)
  })
})

describe('ToolSet.call', () => {
  const add = createTool({
    name: 'add',
    description: 'Add.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => ({ sum: a + b }),
  })
  const set = ToolSet.fromTools([add, tool('echo', (args) => args), tool('text', () => 'as it is')])

  it('parses the arguments, runs the tool and serializes the output', async () => {
    expect(await set.call('add', '{"a":1,"b":2}')).toBe('{"sum":3}')
    expect(await set.call('text', '')).toBe('as it is')
    expect(await set.call('echo', '')).toBe('{}')
    expect(await set.call('echo', 'null')).toBe('null')
  })

  it('returns text for multimodal content, and callContent returns the content itself', async () => {
    const content = [
      { type: 'text', text: 'a shot' },
      { type: 'image', data: 'AAAA' },
    ]
    const shots = ToolSet.fromTools([tool('shot', () => content), tool('text', () => ({ n: 1 }))])
    expect(await shots.call('shot', '{}')).toBe('a shot\n[image:image/png]')
    expect(await shots.callContent('shot', '{}')).toBe(content)
    expect(await shots.callContent('text', '{}')).toBe('{"n":1}')
    await expect(shots.callContent('text', '{')).rejects.toThrow(ToolJsonError)
  })

  it('rejects a hand-written tool with invalid requirements', () => {
    const misspelt = { ...tool('a'), requires: { fs: { read: ['{workspce}/**'] } } }
    expect(() => new ToolSet().addTool(misspelt)).toThrow(/"a".*did you mean "\{workspace\}"/)
  })

  it('passes the context to the tool', async () => {
    const call = vi.fn()
    const context = { emitStreamEvent: vi.fn() }
    await ToolSet.fromTools([tool('t', call)]).call('t', '{}', context)
    expect(call).toHaveBeenCalledWith({}, context)
  })

  it('checks arguments once', async () => {
    const seen = vi.fn((n: number) => n)
    const counted = createTool({
      name: 'c',
      description: 'd',
      input: z.object({ n: z.number().transform(seen) }),
      execute: ({ n }) => n,
    })
    await ToolSet.fromTools([counted]).call('c', '{"n":1}')
    expect(seen).toHaveBeenCalledOnce()
  })

  it('throws ToolNotFoundError for an unknown name, before it reads the arguments', async () => {
    const error = await set.call('ad', 'not json').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ToolNotFoundError)
    expect(error).toMatchObject({ toolName: 'ad', message: 'Unknown tool "ad". Did you mean "add"?' })
  })

  it('throws ToolJsonError for malformed arguments, with the position and the cause', async () => {
    const error = await set.call('add', '{"a":').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ToolJsonError)
    expect((error as Error).cause).toBeInstanceOf(SyntaxError)
    expect((error as Error).message).toMatch(
      /^The arguments of tool "add" are not JSON. Invalid JSON at line 1, column 6/,
    )
  })

  it('throws ToolJsonError for arguments that are not text', async () => {
    await expect(set.call('add', { a: 1 } as never)).rejects.toThrow(
      'The arguments of tool "add" must be JSON text.',
    )
  })

  it('throws ToolCallError for arguments that do not fit, with a message a model can act on', async () => {
    const error = await set.call('add', '{"a":"one","b":2}').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ToolCallError)
    expect((error as Error).cause).toBeInstanceOf(ToolInputError)
    expect((error as Error).message).toContain(
      '- a: Invalid input: expected number, received string; got "one" (string)',
    )
  })

  it('throws ToolCallError for everything the tool throws, with the message and the cause', async () => {
    const boom = new RangeError('boom')
    const failing = ToolSet.fromTools([
      tool('e', () => Promise.reject(boom)),
      tool('s', () => {
        throw 'a string'
      }),
      tool('o', () => {
        throw { odd: true }
      }),
    ])
    await expect(failing.call('e', '')).rejects.toMatchObject({
      name: 'ToolCallError',
      message: 'boom',
      cause: boom,
    })
    await expect(failing.call('s', '')).rejects.toMatchObject({
      name: 'ToolCallError',
      message: 'a string',
      cause: 'a string',
    })
    await expect(failing.call('o', '')).rejects.toMatchObject({
      name: 'ToolCallError',
      message: 'an error that carries no message',
      cause: { odd: true },
    })
  })

  it('does not start a created tool once the run is aborted', async () => {
    await expect(set.call('add', '{"a":1,"b":2}', { signal: AbortSignal.abort() })).rejects.toBeInstanceOf(
      ToolCallError,
    )
  })

  it('does not consult approval policies', async () => {
    const when = vi.fn(() => true)
    const guarded = createTool({
      name: 'g',
      description: 'd',
      input: z.object({}),
      approval: { when },
      execute: () => 'ran',
    })
    expect(await ToolSet.fromTools([guarded]).call('g', '')).toBe('ran')
    expect(when).not.toHaveBeenCalled()
  })

  it('finds no tool for the name of a built-in object member', async () => {
    await expect(set.call('constructor', '{}')).rejects.toBeInstanceOf(ToolNotFoundError)
    await expect(set.call('__proto__', '{}')).rejects.toBeInstanceOf(ToolNotFoundError)
  })
})
