import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { AssistantContent, Message, ToolResultPart } from '../tool/completion.js'
import { isRecord, type JsonValue } from '../tool/json.js'
import { lowerHistory } from './lower-history.js'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const call = (id: string, args: JsonValue = {}): AssistantContent => ({
  type: 'tool_call',
  id,
  function: { name: 'f', arguments: args },
})
const says = (...content: AssistantContent[]): Message => ({ role: 'assistant', content })
const result = (id: string, text = 'ok'): ToolResultPart => ({
  type: 'tool_result',
  id,
  content: [{ type: 'text', text }],
})
const results = (...content: ToolResultPart[]): Message => ({ role: 'tool', content })
const unknownResult = (id: string): ToolResultPart => ({
  ...result(id, 'interrupted, outcome unknown'),
  toolName: 'f',
  isError: true,
})

describe('a history', () => {
  it('that is valid is returned as the same array', () => {
    const history = [
      user('a'),
      says(call('1'), call('2'), call('3')),
      results(result('2')),
      results(result('1'), result('3')),
      says({ type: 'text', text: 'done' }),
    ]
    expect(lowerHistory(history)).toBe(history)
  })

  it.each<[string, Message[], Message[]]>([
    ['with a call at its end', [says(call('1'))], [says(call('1')), results(unknownResult('1'))]],
    [
      'with one result of two',
      [says(call('1'), call('2')), results(result('2')), user('b')],
      [says(call('1'), call('2')), results(unknownResult('1'), result('2')), user('b')],
    ],
    ['with a result that has no call', [user('a'), results(result('9'))], [user('a')]],
    [
      'with a duplicate result',
      [says(call('1')), results(result('1', 'first'), result('1', 'second'))],
      [says(call('1')), results(result('1', 'first'))],
    ],
    [
      'with a message between call and result',
      [says(call('1')), user('wait'), results(result('1'))],
      [says(call('1')), results(result('1')), user('wait')],
    ],
    [
      'with an id that is used again, where a result belongs to the nearer call',
      [says(call('1')), user('x'), says(call('1')), results(result('1'))],
      [says(call('1')), results(unknownResult('1')), user('x'), says(call('1')), results(result('1'))],
    ],
    [
      'with an id twice in one message',
      [says(call('1'), call('1')), results(result('1'))],
      [says(call('1')), results(result('1'))],
    ],
    [
      'with empty messages',
      [
        user(' '),
        says(),
        says({ type: 'text', text: '\n' }),
        says({ type: 'reasoning', text: 'hm' }),
        user('a'),
        { role: 'system', content: '' },
        results(),
      ],
      [user('a')],
    ],
    [
      'with raw arguments',
      [says(call('1', '{"a')), results(result('1')), says(call('2', [1])), results(result('2'))],
      [
        says(call('1', { malformed_arguments: '{"a' })),
        results(result('1')),
        says(call('2', { malformed_arguments: '[1]' })),
        results(result('2')),
      ],
    ],
  ])('%s is repaired', (_, history, lowered) => {
    expect(lowerHistory(history)).toEqual(lowered)
  })

  it('that was repaired is repaired with the same message objects each time', () => {
    const history = [says(call('1', 'raw')), user('x'), says(call('2'))]
    const first = lowerHistory(history)
    const again = lowerHistory([...history, user('more')])
    for (const [at, message] of first.entries()) expect(again[at]).toBe(message)
  })

  it('of any kind becomes a valid one that keeps every text and result it can', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 25 }), (history) => {
        const lowered = lowerHistory(history)
        expect(problemIn(lowered)).toBeUndefined()
        expect(lowerHistory(lowered)).toBe(lowered)
        expect(textsIn(lowered)).toEqual(textsIn(history))
        expect(lowered === history).toBe(problemIn(history) === undefined)
      }),
      { numRuns: propertyRuns(400) },
    )
  })
})

const id = fc.constantFrom('1', '2', '3', '4')
const text = fc.constantFrom('', ' ', 'a', 'b')
const anyPart: fc.Arbitrary<AssistantContent> = fc.oneof(
  text.map((said): AssistantContent => ({ type: 'text', text: said })),
  text.map((said): AssistantContent => ({ type: 'reasoning', text: said })),
  fc
    .tuple(id, fc.constantFrom<JsonValue>({}, 'raw', [1], null, { a: 1 }))
    .map(([name, args]) => call(name, args)),
)
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc
    .array(text, { maxLength: 2 })
    .map(
      (texts): Message => ({ role: 'user', content: texts.map((said) => ({ type: 'text', text: said })) }),
    ),
  text.map((content): Message => ({ role: 'system', content })),
  fc.array(anyPart, { maxLength: 4 }).map((content) => says(...content)),
  fc
    .array(
      id.map((name) => result(name)),
      { maxLength: 4 },
    )
    .map((content) => results(...content)),
)

function textsIn(history: readonly Message[]): string[] {
  return history.flatMap((message) => {
    if (message.role === 'system' || message.role === 'tool') return []
    return message.content.flatMap((part) =>
      part.type === 'text' && part.text.trim() !== '' ? [part.text] : [],
    )
  })
}

/** What a strict provider would reject. */
function problemIn(history: readonly Message[]): string | undefined {
  let open = new Set<string>()
  for (const message of history) {
    if (message.role !== 'tool' && open.size > 0) return 'a call without a result'
    if (message.content.length === 0) return 'an empty message'
    if (message.role === 'system') {
      if (message.content.trim() === '') return 'blank text'
      continue
    }
    if (message.role === 'tool') {
      for (const part of message.content) if (!open.delete(part.id)) return 'a result without a call'
      continue
    }
    for (const part of message.content)
      if (part.type === 'text' && part.text.trim() === '') return 'blank text'
    if (message.role === 'user') continue
    const calls = message.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
    if (message.content.every((part) => part.type === 'reasoning')) return 'reasoning alone'
    if (!calls.every((one) => isRecord(one.function.arguments))) return 'arguments that are not object'
    open = new Set(calls.map((one) => one.id))
    if (open.size !== calls.length) return 'an id twice'
  }
  return open.size > 0 ? 'a call without a result' : undefined
}
