import { describe, expect, it } from 'vitest'
import type { Todo } from '../store/todo.js'
import type { ToolCallContext } from '../tool/contract.js'
import { todoTool } from './todo.js'

function session(initial: readonly Todo[] = []): { context: ToolCallContext; kept(): readonly Todo[] } {
  let kept = initial
  const todos = {
    list: () => kept,
    replace(next: readonly Todo[]) {
      kept = next
    },
  }
  return { context: { runtime: { session: { todos } } }, kept: () => kept }
}

const pending = (content: string): Todo => ({ content, status: 'pending' })

describe('todo', () => {
  it('replaces the list and shows it with counts', async () => {
    const { context, kept } = session([pending('old')])
    const todos: Todo[] = [
      { content: 'read', status: 'completed' },
      { content: 'write', status: 'in_progress' },
      { content: 'test', status: 'pending' },
    ]
    expect(await todoTool.call({ todos }, context)).toBe(
      '[x] read\n[>] write\n[ ] test\n1 of 3 completed, 1 in progress, 1 pending',
    )
    expect(kept()).toEqual(todos)
  })

  it('returns the current list when no new one is given', async () => {
    const { context, kept } = session([pending('old')])
    expect(await todoTool.call({}, context)).toBe('[ ] old\n0 of 1 completed, 0 in progress, 1 pending')
    expect(kept()).toEqual([pending('old')])
  })

  it('empties the list', async () => {
    const { context, kept } = session([pending('old')])
    expect(await todoTool.call({ todos: [] }, context)).toBe('The list is empty.')
    expect(kept()).toEqual([])
  })

  it('rejects two items in progress, names both, and changes nothing', async () => {
    const { context, kept } = session([pending('old')])
    const todos: Todo[] = [
      pending('a'),
      { content: 'b', status: 'in_progress' },
      { content: 'c', status: 'in_progress' },
    ]
    const envelope = await todoTool.execute({ todos }, context)
    expect(envelope).toMatchObject({
      type: 'error',
      error_text: expect.stringMatching(/2 \("b"\) and 3 \("c"\)/),
    })
    expect(kept()).toEqual([pending('old')])
  })

  it.each([
    ['an item without status', [{ content: 'a' }]],
    ['an unknown status', [{ content: 'a', status: 'done' }]],
    ['an unknown field', [{ content: 'a', status: 'pending', id: 1 }]],
    ['an empty item', [{ content: '', status: 'pending' }]],
    ['an item that cannot be seen', [{ content: '\u200b \n', status: 'pending' }]],
    ['an item that is too long', [pending('x'.repeat(1_001))]],
    ['too many items', Array.from({ length: 201 }, (_, at) => pending(`${at}`))],
  ])('rejects %s', async (_name, todos) => {
    const { context, kept } = session()
    expect(await todoTool.execute({ todos }, context)).toMatchObject({ type: 'error' })
    expect(kept()).toEqual([])
  })

  it('SEC-249: removes control characters', async () => {
    const { context, kept } = session()
    await todoTool.execute({ todos: [pending('a\u001b]52;c;x\u0007\nb')] }, context)
    expect(kept()).toEqual([pending('a]52;c;x b')])
  })

  it('names what is missing without a session', async () => {
    expect(await todoTool.execute({})).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('session'),
    })
    const envelope = await todoTool.execute({}, { runtime: { session: {} } })
    expect(envelope).toMatchObject({ error_text: expect.stringContaining('session.todos') })
  })

  it('touches nothing and requires nothing', () => {
    expect(todoTool.requires).toEqual({})
    expect(todoTool.touches({})).toEqual([])
  })
})
