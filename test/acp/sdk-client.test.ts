import { Readable, Writable } from 'node:stream'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { describe, expect, it } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { spawnAcp } from './process.js'

describe('the client of the official SDK', () => {
  it('opens a session, answers an approval, reads the text, and loads the session again', async () => {
    const place = await openPlace()
    const write = { name: 'write', args: { file_path: 'log.txt', content: 'ahoy\n' } }
    const { flags } = await place.model([{ text: 'Writing. ', toolCalls: [write] }, 'Written.'])
    const acp = spawnAcp(place, flags)
    const asked: string[] = []
    const updates: string[] = []
    const app = client({ name: 'test' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        asked.push(params.options.map(({ name }) => name).join('; '))
        return { outcome: { outcome: 'selected', optionId: params.options[0]?.optionId ?? '' } }
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        updates.push(params.update.sessionUpdate)
      })
    const stream = ndJsonStream(
      Writable.toWeb(acp.child.stdin),
      // The types of Node's streams and of the DOM differ in name only.
      Readable.toWeb(acp.child.stdout) as ReadableStream<Uint8Array>,
    )
    await app.connectWith(stream, async (agent) => {
      const started = await agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
      })
      expect(started.agentCapabilities?.loadSession).toBe(true)
      const sessionId = await agent.buildSession(place.root).withSession(async (session) => {
        const [text, answer] = await Promise.all([session.readText(), session.prompt('Write the log.')])
        expect(text).toBe('Writing. Written.')
        expect(answer.stopReason).toBe('end_turn')
        return session.sessionId
      })
      expect(asked).toEqual(['Allow once; Always allow write(log.txt); Reject'])
      const { sessions } = await agent.request(methods.agent.session.list, { cwd: place.root })
      expect(sessions).toMatchObject([{ sessionId, title: 'Write the log.' }])
      updates.length = 0
      await agent.request(methods.agent.session.load, { sessionId, cwd: place.root, mcpServers: [] })
      expect(updates.slice(0, 3)).toEqual(['user_message_chunk', 'agent_message_chunk', 'tool_call'])
      await agent.request(methods.agent.session.setMode, { sessionId, modeId: 'plan' })
      const changed = await agent.request(methods.agent.session.setConfigOption, {
        sessionId,
        configId: 'mode',
        value: 'default',
      })
      expect(changed.configOptions.map(({ id }) => id)).toEqual(['mode', 'model'])
      await agent.request(methods.agent.session.close, { sessionId })
      await agent.request(methods.agent.session.delete, { sessionId })
    })
    acp.child.stdin.end()
    await expect(acp.ended).resolves.toBe(0)
  })
})
