import { describe, expect, it } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { type AcpPeer, newSession, openAcp, promptOf, textOf, type Wire } from './drive.js'

const readCall = (id: string) => ({ id, name: 'read', args: { file_path: 'a.txt' } })

/** A place with a session of one prompt, whose process has ended. */
async function storedSession(): Promise<{ place: AcpPeer['place']; sessionId: string; flags: string[] }> {
  const place = await openPlace({ 'a.txt': 'fair wind\n' })
  const { flags } = await place.model([{ text: 'Looking.', toolCalls: [readCall('call-1')] }, 'Fair wind.'])
  const peer = await openAcp({ place, flags })
  const sessionId = await newSession(peer)
  await peer.request('session/prompt', promptOf(sessionId, 'How is the wind?'))
  await peer.end()
  return { place, sessionId, flags }
}

async function initialized(place: AcpPeer['place'], flags: readonly string[]): Promise<AcpPeer> {
  const peer = await openAcp({ place, flags })
  await peer.request('initialize', { protocolVersion: 1 })
  return peer
}

describe('initialize', () => {
  it('advertises exactly the methods that exist, and a way to sign in', async () => {
    const peer = await openAcp()
    const answer = await peer.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
    expect(answer).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'capstan' },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {} },
        auth: { logout: {} },
      },
      authMethods: [{ id: 'model' }],
    })
    for (const method of ['load', 'resume', 'list', 'delete', 'close', 'set_mode', 'set_config_option'])
      await expect(peer.request(`session/${method}`, { sessionId: 1, cursor: '%' })).rejects.toMatchObject({
        code: -32602,
      })
    expect(peer.problems).toEqual([])
  })

  it.each([0, 1, 2, 65_535])(
    'answers version %i of a client with the version that it supports',
    async (version) => {
      const peer = await openAcp()
      await expect(peer.request('initialize', { protocolVersion: version })).resolves.toMatchObject({
        protocolVersion: 1,
      })
    },
  )

  it('asks to sign in when no model is configured, and after signing out', async () => {
    const bare = await openAcp()
    await expect(newSession(bare)).rejects.toMatchObject({ code: -32000 })
    await expect(bare.request('authenticate', { methodId: 'model' })).rejects.toMatchObject({ code: -32000 })
    const peer = await openAcp({ script: ['Back.'] })
    const sessionId = await newSession(peer)
    await peer.request('logout')
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Hello?'))).rejects.toMatchObject({
      code: -32002,
    })
    await expect(newSession(peer)).rejects.toMatchObject({ code: -32000 })
    await expect(peer.request('authenticate', { methodId: 'other' })).rejects.toMatchObject({ code: -32602 })
    await peer.request('authenticate', { methodId: 'model' })
    await expect(newSession(peer)).resolves.toEqual(expect.any(String))
    expect([...bare.problems, ...peer.problems]).toEqual([])
  })
})

describe('sessions over the protocol', () => {
  it('send nothing before the response to session/new, then the commands', async () => {
    const peer = await openAcp({ script: ['Aye.'] })
    await peer.request('initialize', { protocolVersion: 1 })
    const opened = await peer.request('session/new', { cwd: peer.place.root, mcpServers: [] })
    expect(opened).toMatchObject({
      modes: { currentModeId: 'default' },
      configOptions: [
        { id: 'mode', currentValue: 'default' },
        { id: 'model', currentValue: 'test/m' },
      ],
    })
    await peer.until(({ method }) => method === 'session/update')
    expect(peer.received[1]).toMatchObject({ result: { sessionId: opened['sessionId'] } })
    expect(peer.updates()[0]).toMatchObject({ sessionUpdate: 'available_commands_update' })
    expect(peer.problems).toEqual([])
  })

  it('replay the whole conversation before the response to session/load', async () => {
    const { place, sessionId, flags } = await storedSession()
    const peer = await initialized(place, flags)
    await peer.request('session/load', { sessionId, cwd: place.root, mcpServers: [] })
    const updates = peer.updates(sessionId)
    expect(textOf(updates, 'user_message_chunk')).toBe('How is the wind?')
    expect(textOf(updates)).toBe('Looking.Fair wind.')
    const calls = updates.filter(({ toolCallId }) => toolCallId === 'call-1')
    expect(calls.map(({ sessionUpdate, status }) => [sessionUpdate, status])).toEqual([
      ['tool_call', 'pending'],
      ['tool_call_update', 'in_progress'],
      ['tool_call_update', 'completed'],
    ])
    expect(calls[0]).toMatchObject({ kind: 'read', name: 'read' })
    const answer = peer.received.findIndex(({ id }) => id === 2)
    expect(peer.received.slice(answer + 1).filter(({ method }) => method === 'session/update')).toEqual([])
    expect(peer.problems).toEqual([])
  })

  it('resume without the conversation, and continue it', async () => {
    const { place, sessionId } = await storedSession()
    const { server, flags } = await place.model(['Twelve knots.'])
    const peer = await initialized(place, flags)
    await peer.request('session/resume', { sessionId, cwd: place.root })
    expect(textOf(peer.updates(sessionId), 'user_message_chunk')).toBe('')
    await peer.request('session/prompt', promptOf(sessionId, 'How fast?'))
    expect(JSON.stringify(server.requests[0]?.body)).toContain('How is the wind?')
    expect(peer.problems).toEqual([])
  })

  it('are listed by directory, deleted and closed', async () => {
    const { place, sessionId, flags } = await storedSession()
    const peer = await initialized(place, flags)
    const listed = await peer.request('session/list', { cwd: place.root })
    expect(listed).toMatchObject({ sessions: [{ sessionId, cwd: place.root, title: 'How is the wind?' }] })
    await expect(peer.request('session/list', { cwd: place.home })).resolves.toMatchObject({ sessions: [] })
    await peer.request('session/resume', { sessionId, cwd: place.root })
    await peer.request('session/close', { sessionId })
    await expect(peer.request('session/prompt', promptOf(sessionId, 'x'))).rejects.toMatchObject({
      code: -32002,
    })
    await peer.request('session/delete', { sessionId })
    await peer.request('session/delete', { sessionId })
    await expect(peer.request('session/list', {})).resolves.toMatchObject({ sessions: [] })
    const gone = { sessionId, cwd: place.root, mcpServers: [] }
    await expect(peer.request('session/load', gone)).rejects.toMatchObject({ code: -32002 })
    expect(peer.problems).toEqual([])
  })

  it('are listed in pages', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'Aye.')
    const peer = await initialized(place, flags)
    for (let n = 0; n < 53; n++) {
      const { sessionId } = await peer.request('session/new', { cwd: place.root, mcpServers: [] })
      await peer.request('session/prompt', promptOf(String(sessionId), `Prompt ${n}`))
    }
    const first = await peer.request('session/list', {})
    const second = await peer.request('session/list', { cursor: first['nextCursor'] })
    const ids = [first, second].flatMap(({ sessions }) => (Array.isArray(sessions) ? sessions : []))
    expect(new Set(ids.map(({ sessionId }: Wire) => sessionId)).size).toBe(53)
    expect(second['nextCursor']).toBeUndefined()
    expect(peer.problems).toEqual([])
  })

  it('reject a directory that is relative, missing or not that of the session', async () => {
    const { place, sessionId, flags } = await storedSession()
    const peer = await initialized(place, flags)
    for (const cwd of ['relative', '/nowhere/at/all', ''])
      await expect(peer.request('session/new', { cwd, mcpServers: [] })).rejects.toMatchObject({
        code: -32602,
      })
    await expect(
      peer.request('session/load', { sessionId, cwd: place.home, mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32602 })
  })

  it('change the mode with both methods, and report it with the other', async () => {
    const peer = await openAcp({ script: [] })
    const sessionId = await newSession(peer)
    await peer.request('session/set_mode', { sessionId, modeId: 'plan' })
    const changed = await peer.until((message) => JSON.stringify(message).includes('config_option_update'))
    expect(changed).toMatchObject({ params: { update: { configOptions: [{ currentValue: 'plan' }, {}] } } })
    await expect(
      peer.request('session/set_config_option', { sessionId, configId: 'mode', value: 'default' }),
    ).resolves.toMatchObject({ configOptions: [{ currentValue: 'default' }, {}] })
    await peer.until((message) => JSON.stringify(message).includes('"currentModeId":"default"}'))
    for (const modeId of ['unknown', 'constructor'])
      await expect(peer.request('session/set_mode', { sessionId, modeId })).rejects.toMatchObject({
        code: -32602,
      })
    await expect(
      peer.request('session/set_config_option', { sessionId, configId: 'model', value: 'other/x' }),
    ).rejects.toMatchObject({ code: -32602 })
    expect(peer.problems).toEqual([])
  })
})
