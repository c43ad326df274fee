import { describe, expect, it } from 'vitest'
import { importCopy } from '../../test/support/second-copy.js'
import { CapstanError, ToolCallError, ToolJsonError, ToolNotFoundError } from './errors.js'

describe('error classes', () => {
  it('carry their name, a stable code, and what caused them', () => {
    const cause = new Error('inner')
    expect(new ToolCallError('outer', cause)).toMatchObject({
      name: 'ToolCallError',
      code: 'tool_call_failed',
      message: 'outer',
      cause,
    })
    expect(new ToolJsonError('bad', cause)).toMatchObject({
      name: 'ToolJsonError',
      code: 'tool_arguments_malformed',
      cause,
    })
    expect(new ToolNotFoundError('x')).toMatchObject({
      name: 'ToolNotFoundError',
      code: 'tool_not_found',
      toolName: 'x',
    })
    expect(String(new ToolCallError('outer'))).toBe('ToolCallError: outer')
  })

  it('have no cause when none was given', () => {
    expect(Object.hasOwn(new ToolCallError('outer'), 'cause')).toBe(false)
  })

  it('are errors, and Capstan errors, and not each other', () => {
    const error = new ToolCallError('x')
    expect(error instanceof Error && error instanceof CapstanError && error instanceof ToolCallError).toBe(
      true,
    )
    expect(error instanceof ToolJsonError).toBe(false)
    expect(new CapstanError('c', 'm') instanceof ToolCallError).toBe(false)
    for (const other of [undefined, null, 'ToolCallError', { name: 'ToolCallError' }, new Error('x')]) {
      expect((other as unknown) instanceof ToolCallError).toBe(false)
    }
  })

  it('recognise errors made by another copy of the package', async () => {
    const other = await importCopy<typeof import('./errors.js')>(new URL('./errors.js', import.meta.url))
    expect(other.ToolCallError).not.toBe(ToolCallError)
    expect(new other.ToolCallError('x') instanceof ToolCallError).toBe(true)
    expect(new other.ToolCallError('x') instanceof CapstanError).toBe(true)
    expect(new other.ToolNotFoundError('x') instanceof ToolCallError).toBe(false)
  })

  it('do not change instanceof of a user’s subclass', () => {
    class Mine extends ToolCallError {}
    expect(new Mine('x') instanceof Mine).toBe(true)
    expect(new Mine('x') instanceof ToolCallError).toBe(true)
    expect(new ToolCallError('x') instanceof Mine).toBe(false)
  })
})

describe('ToolNotFoundError', () => {
  it('suggests the nearest names', () => {
    expect(new ToolNotFoundError('raed', ['read', 'write', 'rad']).message).toBe(
      'Unknown tool "raed". Did you mean "read" or "rad"?',
    )
    expect(new ToolNotFoundError('readFile', ['read_file', 'bash']).message).toContain(
      'Did you mean "read_file"?',
    )
    expect(new ToolNotFoundError('zzz', ['read']).message).toBe('Unknown tool "zzz".')
  })
})
