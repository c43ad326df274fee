import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../tool/completion.js'
import { diffSessions, formatSessionDiff } from './diff-sessions.js'

const ask = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const say = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const call = (id: string, path: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, function: { name: 'read', arguments: { path } } }],
})
const result = (id: string, text: string): Message => ({
  role: 'tool',
  content: [{ type: 'tool_result', id, toolName: 'read', content: [{ type: 'text', text }] }],
})

describe('the difference of two sessions', () => {
  it('is empty for equal sessions, whatever the ids', () => {
    const a = [ask('q'), call('1', 'a'), result('1', 'x'), say('done')]
    const b = [ask('q'), call('2', 'a'), result('2', 'x'), say('done')]
    const diff = diffSessions(a, b)
    expect(diff.same).toBe(true)
    expect(formatSessionDiff(diff)).toBe('The same: 1 turn(s).')
  })

  it('lists per turn what differs in prompts, texts and calls', () => {
    const a = [ask('1'), say('a'), ask('2'), call('c', 'x'), result('c', 'r'), say('b'), ask('3'), say('c')]
    const b = [ask('1'), say('A'), ask('2'), call('c', 'y'), result('c', 'r'), say('b'), ask('4'), say('c')]
    const diff = diffSessions(a, b)
    expect(diff.turns.map((turn) => (turn.kind === 'changed' ? turn.what : turn.kind))).toEqual([
      ['text'],
      ['calls'],
      ['prompt'],
    ])
    expect(formatSessionDiff(diff)).toBe(
      [
        '~ 1. 1 (text)',
        '    said:',
        '    - a',
        '    + A',
        '~ 2. 2 (calls)',
        '    called:',
        '    - read({"path":"x"})',
        '    + read({"path":"y"})',
        '~ 3. 4 (prompt)',
        '    asked:',
        '    - 3',
        '    + 4',
      ].join('\n'),
    )
    const results = diffSessions(
      [ask('q'), call('1', 'a'), result('1', 'x')],
      [ask('q'), call('1', 'a'), result('1', 'y')],
    )
    expect(results.turns).toMatchObject([{ kind: 'changed', what: ['results'] }])
  })

  it('pairs turns with the same prompt, and leaves out hidden ones', () => {
    const a = [ask('1'), say('x'), ask('2'), say('y'), ask('3'), say('z')]
    const b = [ask('1'), say('x'), ask('3'), say('z'), ask('4'), say('new')]
    expect(diffSessions(a, b).turns.map(({ kind }) => kind)).toEqual(['same', 'only_a', 'same', 'only_b'])
    const hidden = { messages: a.map((message, at) => ({ message, hidden: at >= 2 })) }
    expect(diffSessions(hidden, a.slice(0, 2)).same).toBe(true)
  })

  it('has every turn of both once and in order', () => {
    const turns = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 })
    fc.assert(
      fc.property(turns, turns, (left, right) => {
        const { turns: found } = diffSessions(left.map(ask), right.map(ask))
        expect(found.flatMap((turn) => ('a' in turn ? [turn.a.prompt] : []))).toEqual(left)
        expect(found.flatMap((turn) => ('b' in turn ? [turn.b.prompt] : []))).toEqual(right)
      }),
    )
  })
})
