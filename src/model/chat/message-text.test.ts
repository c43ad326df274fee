import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import type { Message } from '../../tool/completion.js'
import { createMessageText } from './message-text.js'

const style = { facts: { images: true, documents: true }, dialect: {} }

const make: Readonly<Record<string, (text: string) => Message>> = {
  user: (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  assistant: (text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
  tool: (id) => ({
    role: 'tool',
    content: [{ type: 'tool_result', id, content: [{ type: 'text', text: id }] }],
  }),
  picture: (id) => ({
    role: 'tool',
    content: [{ type: 'tool_result', id, content: [{ type: 'image', data: id }] }],
  }),
}

const edit = fc.record({
  keep: fc.nat({ max: 100 }),
  drop: fc.nat({ max: 3 }),
  add: fc.array(fc.constantFrom('user', 'assistant', 'tool', 'picture'), { maxLength: 90 }),
})

describe('the text of messages', () => {
  it('is the same whether it is cached or written again, however the history grows, shrinks or forks', () => {
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 8 }), (edits) => {
        const remembered = createMessageText(style)
        let history: Message[] = []
        let made = 0
        for (const { keep, drop, add } of edits) {
          const added = add.flatMap((kind) => make[kind]?.(`m${made++}`) ?? [])
          history = [...history.slice(drop, keep), ...history.slice(keep + drop), ...added]
          const text = remembered(history).join(',')
          expect(text).toBe(createMessageText(style)(history).join(','))
          expect(text).toBe(
            history
              .reduce<{ said: string[]; waiting: string[] }>(
                ({ said, waiting }, message) => {
                  const [json = '', after] = createMessageText(style)([message])
                  const flushed = message.role === 'tool' ? [] : waiting
                  const left = message.role === 'tool' ? waiting : []
                  return {
                    said: [...said, ...flushed, json],
                    waiting: after === undefined ? left : [...left, after],
                  }
                },
                { said: [], waiting: [] },
              )
              .said.concat(waitingAt(history))
              .join(','),
          )
        }
      }),
      { numRuns: propertyRuns(40) },
    )
  })

  it.each<readonly [string, Message]>([
    ['a system message', { role: 'system', content: 'a\ud83d 😀' }],
    ['a user message', { role: 'user', content: [{ type: 'text', text: 'a\ud83d 😀' }] }],
    ['an answer', { role: 'assistant', content: [{ type: 'text', text: 'a\ud83d 😀' }] }],
    [
      'a message of several texts',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text: 'a\ud83d 😀' },
        ],
      },
    ],
    [
      'a tool result',
      {
        role: 'tool',
        content: [{ type: 'tool_result', id: '1', content: [{ type: 'text', text: 'a\ud83d 😀' }] }],
      },
    ],
  ])('replaces lone surrogates of %s among plain messages', (_, message) => {
    const plain: Message = { role: 'user', content: [{ type: 'text', text: 'plain, 日本' }] }
    const text = createMessageText(style)([plain, message, plain]).join(',')
    expect(text).toContain('a\ufffd 😀')
    expect(text).not.toContain('\\ud83d')
    expect(text.split('plain, 日本')).toHaveLength(3)
  })

  it('is computed once for each message', () => {
    let reads = 0
    const counted = (text: string): Message => ({
      role: 'user',
      get content() {
        reads++
        return [{ type: 'text' as const, text }]
      },
    })
    const history = Array.from({ length: 200 }, (_, n) => counted(`m${n}`))
    const text = createMessageText(style)
    text(history)
    const first = reads
    for (let round = 0; round < 5; round++) text([...history, counted('new')])
    expect(reads - first).toBe((first / history.length) * 5)
  })
})

/** The images of the results at the end, which come last. */
function waitingAt(history: readonly Message[]): string[] {
  const end = history.findLastIndex(({ role }) => role !== 'tool') + 1
  return history.slice(end).flatMap((message) => createMessageText(style)([message]).slice(1))
}
