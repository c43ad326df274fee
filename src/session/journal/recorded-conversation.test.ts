import { expect, it } from 'vitest'
import type { Message } from '../../tool/completion.js'
import { createRecordedConversation } from './recorded-conversation.js'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

it.each<[string, (shown: Message[]) => void]>([
  ['adds to', (shown) => shown.push(user('not said'))],
  ['takes from', (shown) => shown.shift()],
  ['empties', (shown) => shown.splice(0)],
])('a caller that %s the list it got changes nothing of the conversation', async (_, change) => {
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
