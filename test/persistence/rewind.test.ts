import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { openAgentPlace } from './open-agent.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace()
  base = place.base
  work = place.work
  agent = place.agent
})

const spoken = (session: { history(): { content: readonly { text?: string }[] }[] }): string[] =>
  session.history().map(({ content }) => content.map(({ text = '' }) => text).join(''))

describe.each<[string, () => SessionStore | undefined]>([
  ['in files', () => new FileSessionStore(join(base, 'sessions'))],
  ['in memory', () => new MemorySessionStore()],
  ['nowhere', () => undefined],
])('a session that is stored %s', (_, makeStore) => {
  const open = (answers: string[], store = makeStore()) => {
    const model = scriptedModel(answers)
    const session = agent.session(work, {
      sessionId: 's',
      model,
      ...(store !== undefined && { sessionStore: store }),
    })
    return { session, model, store }
  }

  it('is rewound to a message of the user, and forward again', async () => {
    const { session, model, store } = open(['a1', 'a2', 'a3', 'other'])
    for (const prompt of ['q1', 'q2', 'q3']) await session.send(prompt)
    const listed = session.messages()
    expect(listed.map(({ role, text }) => `${role} ${text}`)).toEqual([
      'user q1',
      'assistant a1',
      'user q2',
      'assistant a2',
      'user q3',
      'assistant a3',
    ])
    const [, , second, , third] = listed
    expect(await session.rewind(third?.id ?? '')).toEqual({ prompt: 'q3', hidden: 2 })
    expect(await session.rewind(second?.id ?? '')).toEqual({ prompt: 'q2', hidden: 2 })
    expect(spoken(session)).toEqual(['q1', 'a1'])
    expect(await session.unrewind()).toBe(4)
    expect(spoken(session)).toEqual(['q1', 'a1', 'q2', 'a2', 'q3', 'a3'])
    await expect(session.unrewind()).rejects.toMatchObject({ code: 'nothing_rewound' })

    await session.rewind(second?.id ?? '')
    expect((await session.send('q2 again')).text).toBe('other')
    expect(spoken(session)).toEqual(['q1', 'a1', 'q2 again', 'other'])
    expect(model.requests.at(-1)?.chatHistory).toHaveLength(3)
    // Something was said since: both cannot stand.
    await expect(session.unrewind()).rejects.toMatchObject({ code: 'nothing_rewound' })
    await session.close()
    if (store === undefined) return
    const again = await agent.openSession('s', { sessionStore: store })
    expect(spoken(again)).toEqual(['q1', 'a1', 'q2 again', 'other'])
    await expect(again.unrewind()).rejects.toMatchObject({ code: 'nothing_rewound' })
  })

  it('knows in another process what can be shown again', async () => {
    const { session, store } = open(['a1', 'a2'])
    if (store === undefined) return
    await session.send('q1')
    await session.send('q2')
    await session.rewind(session.messages()[2]?.id ?? '')
    await session.close()
    const again = await agent.openSession('s', { sessionStore: store })
    expect(spoken(again)).toEqual(['q1', 'a1'])
    expect(await again.unrewind()).toBe(2)
    await again.close()
    expect(spoken(await agent.openSession('s', { sessionStore: store }))).toEqual(['q1', 'a1', 'q2', 'a2'])
  })

  it('shows the summarised messages when it is rewound past the summary', async () => {
    const { session, model } = open([`a1 ${'word '.repeat(3_000)}`, 'a2', 'the summary', 'a3', 'a4'])
    await session.send('q1')
    await session.send('q2')
    await session.send('/compact')
    await session.send('q3')
    expect(JSON.stringify(model.requests.at(-1)?.chatHistory)).toContain('the summary')
    const second = session.messages().find(({ text }) => text === 'q2')
    await session.rewind(second?.id ?? '')
    await session.send('q2 again')
    const asked = JSON.stringify(model.requests.at(-1)?.chatHistory)
    expect(asked).not.toContain('the summary')
    expect(model.requests.at(-1)?.chatHistory).toHaveLength(3)
    expect(asked).toContain('a1')
  })

  it('restores cleared messages', async () => {
    const { session } = open(['a1'])
    await session.send('q1')
    await session.send('/clear')
    expect(session.history()).toEqual([])
    expect(await session.unrewind()).toBe(2)
    expect(spoken(session)).toEqual(['q1', 'a1'])
  })

  it('rejects an id that is not a message of the user, and does nothing during a run', async () => {
    const { session } = open(['a1'])
    await session.send('q1')
    const [, answer] = session.messages()
    await expect(session.rewind(answer?.id ?? '')).rejects.toMatchObject({ code: 'not_a_user_message' })
    await expect(session.rewind('nowhere')).rejects.toMatchObject({ code: 'message_not_found' })
    const busy = agent.session(work, { model: scriptedModel([{ text: 'so', hang: true }]) })
    const running = await busy.stream('wait')
    await running.next()
    await expect(busy.rewind('message-1')).rejects.toMatchObject({ code: 'session_busy' })
    await expect(busy.undo()).rejects.toMatchObject({ code: 'session_busy' })
    await expect(agent.forkSession(busy)).rejects.toMatchObject({ code: 'session_busy' })
    await busy.close()
  })

  it('makes a message that arrives meanwhile wait for the rewind', async () => {
    const { session } = open(['a1', 'a2'])
    await session.send('q1')
    const going = session.rewind(session.messages()[0]?.id ?? '')
    const sent = session.send('q2')
    await going
    await sent
    expect(spoken(session)).toEqual(['q2', 'a2'])
  })

  it('does not resume a run that was rewound', async () => {
    const store = makeStore()
    if (store === undefined) return
    const look = { toolCalls: [{ name: 'ls', args: { path: '.' } }] }
    const session = agent.session(work, {
      sessionStore: store,
      model: scriptedModel(['a1', look, { error: new Error('gone') }, 'continued']),
    })
    await session.send('q1')
    await session.send('q2').catch(() => undefined)
    const { id = '' } = (await session.runs()).at(-1) ?? {}
    await session.rewind(session.messages()[2]?.id ?? '')
    await expect(session.resumeRun(id)).rejects.toMatchObject({ code: 'no_checkpoint' })
    await session.unrewind()
    expect((await session.resumeRun(id)).text).toBe('continued')
  })
})
