import { describe, expect, it } from 'vitest'
import type { Message } from '../tool/completion.js'
import { appendOnly, walkHistory } from './append-only.js'
import { estimateTokens } from './estimate-tokens.js'
import { lowerHistory } from './lower-history.js'
import { toolCallIdsIn } from './tool-call-ids.js'

const say = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const call = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, function: { name: 'read', arguments: {} } }],
})
const result = (id: string): Message => ({
  role: 'tool',
  content: [{ type: 'tool_result', id, content: [{ type: 'text', text: 'x' }] }],
})

describe('a list that only grows', () => {
  it('is walked once, however often it is read', () => {
    let taken = 0
    const count = walkHistory(
      () => ({ messages: 0 }),
      (state) => {
        taken++
        state.messages++
      },
    )
    const history = appendOnly([])
    for (let n = 1; n <= 100; n++) {
      history.push(say(`${n}`))
      expect(count(history).messages).toBe(n)
    }
    expect(taken).toBe(100)
  })

  it('returns the same as a walk over a copy, at every length', () => {
    const history = appendOnly([])
    for (const message of [
      say('go'),
      call('a'),
      result('a'),
      call('b'),
      say('flaw'),
      call('c'),
      result('c'),
    ]) {
      history.push(message)
      const copy = [...history]
      expect(lowerHistory(history)).toEqual(lowerHistory(copy))
      expect(lowerHistory(history) === history).toBe(lowerHistory(copy) === copy)
      expect(estimateTokens({ chatHistory: history })).toBe(estimateTokens({ chatHistory: copy }))
      expect(toolCallIdsIn(history)).toEqual(toolCallIdsIn(copy))
    }
  })
})

it('any other list is walked again, because anything in it may have changed', () => {
  const history = [say('go'), call('a'), result('a')]
  expect(lowerHistory(history)).toBe(history)
  history[2] = result('b')
  expect(lowerHistory(history)).not.toBe(history)
})

it('a list that became shorter is walked again', () => {
  const history = appendOnly([say('one'), call('a'), result('a')])
  expect([...toolCallIdsIn(history)]).toEqual(['a'])
  history.length = 1
  expect([...toolCallIdsIn(history)]).toEqual([])
})
