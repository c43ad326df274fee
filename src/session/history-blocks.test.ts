import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../tool/completion.js'
import { fromHistory, type HistoryMessage, toHistory } from './history-blocks.js'

const optional = <Value>(name: string, value: fc.Arbitrary<Value>) =>
  fc.option(value).map((given) => (given === null ? {} : { [name]: given }))

const text = fc.string().map((said) => ({ type: 'text' as const, text: said }))
const image = fc
  .tuple(fc.base64String(), optional('mediaType', fc.constant('image/png')))
  .map(([data, more]) => ({ type: 'image' as const, data, ...more }))
const document = fc
  .tuple(fc.base64String(), optional('mediaType', fc.constant('text/plain')), optional('name', fc.string()))
  .map(([data, type, name]) => ({ type: 'document' as const, data, ...type, ...name }))
const call = fc.record({
  type: fc.constant('tool_call' as const),
  id: fc.string(),
  function: fc.record({ name: fc.string(), arguments: fc.dictionary(fc.string(), fc.string()) }),
})
const result = fc
  .tuple(fc.string(), fc.string(), fc.boolean(), optional('toolName', fc.string()))
  .map(([id, said, failed, name]) => ({
    type: 'tool_result' as const,
    id,
    content: [{ type: 'text' as const, text: said }],
    ...(failed && { isError: true }),
    ...name,
  }))
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('system' as const), content: fc.string() }),
  fc.record({ role: fc.constant('user' as const), content: fc.array(fc.oneof(text, image, document)) }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.array(
      fc.oneof(
        text,
        image,
        call,
        fc.string().map((said) => ({ type: 'reasoning' as const, text: said })),
      ),
    ),
  }),
  fc.record({ role: fc.constant('tool' as const), content: fc.array(result, { minLength: 1 }) }),
)

describe('the history in the form for hosts', () => {
  it('converts back to the same messages', () => {
    fc.assert(
      fc.property(fc.array(message), (messages) => {
        expect(fromHistory(toHistory(messages))).toEqual(messages)
        expect(fromHistory(JSON.parse(JSON.stringify(toHistory(messages))))).toEqual(messages)
      }),
    )
  })

  it('has calls and results with their names, and images of results as a mark', () => {
    expect(
      toHistory([
        {
          role: 'assistant',
          content: [
            { type: 'tool_call', id: 'c', callId: 'p', function: { name: 'read', arguments: { path: 'a' } } },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool_result',
              id: 'c',
              toolName: 'read',
              content: [
                { type: 'text', text: 'see' },
                { type: 'image', data: 'AAAA', mediaType: 'image/gif' },
              ],
            },
          ],
        },
      ]),
    ).toEqual([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'read', input: { path: 'a' } }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            toolUseId: 'c',
            name: 'read',
            resultContent: 'see\n[image:image/gif]',
            isError: false,
          },
        ],
      },
    ])
  })

  it('can be plain messages with a string as content', () => {
    expect(
      fromHistory([
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'ho' },
        { role: 'system', content: 'be' },
      ]),
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'ho' }] },
      { role: 'system', content: 'be' },
    ])
  })

  it('loses nothing of a message that has results and text', () => {
    const mixed: HistoryMessage = {
      role: 'user',
      content: [
        { type: 'tool_result', toolUseId: 'c', resultContent: 'ok' },
        { type: 'text', text: 'and now?' },
      ],
    }
    expect(fromHistory([mixed])).toEqual([
      { role: 'tool', content: [{ type: 'tool_result', id: 'c', content: [{ type: 'text', text: 'ok' }] }] },
      { role: 'user', content: [{ type: 'text', text: 'and now?' }] },
    ])
  })

  it('leaves out blocks that a message of its role cannot have, alone and among others', () => {
    const blocks: HistoryMessage['content'] = [
      { type: 'reasoning', text: 'why' },
      { type: 'text', text: 'hi' },
      { type: 'document', data: 'AA==' },
    ]
    const contents = (role: 'user' | 'assistant') =>
      fromHistory([{ role, content: blocks }, ...blocks.map((block) => ({ role, content: [block] }))]).map(
        ({ content }) => content,
      )
    const [reasoning, text, document] = [
      { type: 'reasoning', text: 'why' },
      { type: 'text', text: 'hi' },
      { type: 'document', data: 'AA==' },
    ]
    expect(contents('user')).toEqual([[text, document], [], [text], [document]])
    expect(contents('assistant')).toEqual([[reasoning, text], [reasoning], [text], []])
  })

  it('is rejected with an unknown role', () => {
    expect(() => fromHistory([{ role: 'robot', content: 'x' }])).toThrow(/role "robot"/)
    expect(() => fromHistory([{ role: 'tool', content: 'x' }])).toThrow(/role "tool".*tool results/)
  })
})
