import { describe, expect, it } from 'vitest'
import { newSession, openAcp, promptOf, textOf } from './drive.js'

describe('capstan acp', () => {
  it('answers a prompt with chunks of text and a stop reason', async () => {
    const peer = await openAcp({ script: ['Land ahoy!'] })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'What do you see?'))).resolves.toEqual({
      stopReason: 'end_turn',
    })
    expect(textOf(peer.updates(sessionId))).toBe('Land ahoy!')
    expect(peer.problems).toEqual([])
    await expect(peer.end()).resolves.toMatchObject({ code: 0 })
  })

  it('ends a prompt that is cancelled, and answers the next one', async () => {
    const peer = await openAcp({ script: [{ text: 'Never.', stall: true }, 'Still here.'] })
    const sessionId = await newSession(peer)
    const first = peer.request('session/prompt', promptOf(sessionId, 'Wait.'))
    await peer.modelRequest(0)
    peer.notify('session/cancel', { sessionId })
    await expect(first).resolves.toEqual({ stopReason: 'cancelled' })
    await expect(peer.request('session/prompt', promptOf(sessionId, 'And now?'))).resolves.toEqual({
      stopReason: 'end_turn',
    })
    expect(peer.problems).toEqual([])
  })

  it('cancels a prompt that arrived at the same moment', async () => {
    const peer = await openAcp({ script: [{ text: 'Never.', stall: true }] })
    const sessionId = await newSession(peer)
    const asked = peer.request('session/prompt', promptOf(sessionId, 'Wait.'))
    peer.notify('session/cancel', { sessionId })
    await expect(asked).resolves.toEqual({ stopReason: 'cancelled' })
  })

  it('cancels a request by its id', async () => {
    const peer = await openAcp({ script: [{ text: 'Never.', stall: true }] })
    const sessionId = await newSession(peer)
    const asked = peer.request('session/prompt', promptOf(sessionId, 'Wait.'))
    // initialize and session/new have the ids before it.
    peer.notify('$/cancel_request', { requestId: 3 })
    await expect(asked).resolves.toEqual({ stopReason: 'cancelled' })
  })

  it('accepts a message of several megabytes in one line', async () => {
    const peer = await openAcp({ script: ['Long.'] })
    const sessionId = await newSession(peer)
    const prompt = { ...promptOf(sessionId, 'How long?'), _meta: { padding: 'x'.repeat(20_000_000) } }
    await expect(peer.request('session/prompt', prompt)).resolves.toEqual({ stopReason: 'end_turn' })
  })

  it('answers unknown methods and unknown extensions with -32601, and stays connected', async () => {
    const peer = await openAcp()
    for (const method of ['session/unknown', '_capstan/unknown', '_other/thing', 'constructor'])
      await expect(peer.request(method)).rejects.toMatchObject({ code: -32601 })
    peer.notify('_unknown/notification', {})
    await expect(peer.request('initialize', { protocolVersion: 1 })).resolves.toMatchObject({
      protocolVersion: 1,
    })
  })

  it('answers a line that is not JSON, and one that is not a message, with an error without an id', async () => {
    const peer = await openAcp()
    peer.write('{"jsonrpc":"2.0","id":1,')
    peer.write('[1,2]')
    peer.write('{"jsonrpc":"2.0","id":[],"method":"initialize"}')
    await expect(peer.request('initialize', { protocolVersion: 1 })).resolves.toBeDefined()
    expect(peer.received.slice(0, 3)).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32600 } },
    ])
  })
})
