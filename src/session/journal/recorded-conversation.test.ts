import { expect, it } from 'vitest'
import type { Message } from '../../tool/completion.js'
import { createRecordedConversation } from './recorded-conversation.js'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

it.each<[string, (shown: Message[]) => void]>([
  ['adds to', (shown) => shown.push(user('not said'))],
  ['takes from', (shown) => shown.shift()],
  ['empties', (shown) => shown.splice(0)],
])('a caller that %s the returned list does not change the conversation', async (_, change) => {
  let count = 0
  const conversation = createRecordedConversation({
    sessionId: 's',
    runId: () => undefined,
    newId: () => `m${++count}`,
    now: () => 0,
  })
  await conversation.append(user('one'))
  await conversation.append(user('two'))
  change(conversation.view as Message[])
  await conversation.append(user('three'))
  expect(conversation.view).toEqual([user('one'), user('two'), user('three')])
  expect(conversation.view).toEqual(conversation.messages)
})

it('has the same messages after the session was idle, and accepts further ones', async () => {
  let count = 0
  const conversation = createRecordedConversation({
    sessionId: 's',
    runId: () => 'run',
    newId: () => `m${++count}`,
    now: () => 1_700_000_000_000,
  })
  expect(conversation.isEmpty).toBe(true)
  await conversation.append(user('one'))
  await conversation.append(user('two'), { metadata: { from: 'test' } })
  const before = structuredClone({ order: conversation.order, kept: conversation.kept })
  conversation.rest(64)
  conversation.rest(64)
  expect(conversation.isEmpty).toBe(false)
  expect({ order: conversation.order, kept: conversation.kept }).toStrictEqual(before)
  conversation.rest(64)
  await conversation.append(user('three'))
  expect(conversation.view).toEqual([user('one'), user('two'), user('three')])
  expect(conversation.messages).toEqual(conversation.view)
})

it('keeps hidden messages and the result of a compaction when the session is idle', async () => {
  let count = 0
  const conversation = createRecordedConversation({
    sessionId: 's',
    runId: () => undefined,
    newId: () => `m${++count}`,
    now: () => 0,
  })
  for (const text of ['one', 'two', 'three']) await conversation.append(user(text))
  await conversation.compact([user('summary'), ...conversation.view.slice(2)], true)
  conversation.rest(64)
  expect(conversation.view).toEqual([user('summary'), user('three')])
  expect(conversation.messages).toHaveLength(3)
  await conversation.rewind('m2')
  conversation.rest(64)
  expect(conversation.messages).toEqual([user('one')])
  expect(conversation.rewound).toEqual(['m2', 'm3', 'm4'])
})
