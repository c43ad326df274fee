import { describe, expect, it, vi } from 'vitest'
import { asSupervisionError, assertFits, StreamPeer } from './stream-peer.js'
import type { WireEvents } from './wire/wire.js'

/** A peer on a wire of this test: what it sent, and what the other side says. */
async function openPeer(maxBytes = 10_000) {
  const sent: { id?: string; method: string; params: unknown }[] = []
  const close = vi.fn(async () => undefined)
  let events: WireEvents | undefined
  const peer = await StreamPeer.open(
    async (given) => {
      events = given
      return { send: (text) => void sent.push(JSON.parse(text)), close }
    },
    maxBytes,
    new AbortController().signal,
  )
  const says = (message: object | string): void =>
    events?.message(typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message }))
  return { peer, sent, close, says, ends: (why: string) => events?.closed(why) }
}

const ask = { timeoutMs: 60_000 }

describe('StreamPeer', () => {
  it('matches each answer to its request, in any order', async () => {
    const { peer, sent, says } = await openPeer()
    const first = peer.request('ahp/event', { n: 1 }, ask)
    const second = peer.request('ahp/event', { n: 2 }, ask)
    expect(sent.map(({ params }) => params)).toEqual([{ n: 1 }, { n: 2 }])
    says({ id: sent[1]?.id, result: 'two' })
    says({ id: sent[0]?.id, result: 'one' })
    expect(await Promise.all([first, second])).toEqual(['one', 'two'])
  })

  it('sends a notice without an id', async () => {
    const { peer, sent } = await openPeer()
    await peer.notify('ahp/event', { n: 1 })
    expect(sent).toEqual([{ jsonrpc: '2.0', method: 'ahp/event', params: { n: 1 } }])
  })

  it('rejects one request that is answered with an error, and stays open', async () => {
    const { peer, sent, says } = await openPeer()
    const asked = peer.request('ahp/event', {}, ask)
    says({ id: sent[0]?.id, error: { code: 1, message: 'no' } })
    await expect(asked).rejects.toMatchObject({
      code: 'supervision_refused',
      message: 'it answered with an error: no (1)',
    })
    expect(peer.gone).toBeUndefined()
  })

  it('rejects a request that is not answered in time, and ignores the late answer', async () => {
    const { peer, sent, says } = await openPeer()
    await expect(peer.request('ahp/event', {}, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'supervision_timeout',
    })
    says({ id: sent[0]?.id, result: 'late' })
    expect(peer.gone).toBeUndefined()
  })

  it('rejects a request that is aborted, before or after it was sent', async () => {
    const { peer, sent } = await openPeer()
    const controller = new AbortController()
    const asked = peer.request('ahp/event', {}, { ...ask, signal: controller.signal })
    controller.abort()
    await expect(asked).rejects.toMatchObject({ code: 'supervision_aborted' })
    await expect(peer.request('ahp/event', {}, { ...ask, signal: controller.signal })).rejects.toMatchObject({
      code: 'supervision_aborted',
    })
    expect(sent).toHaveLength(1)
  })

  it('ends with all pending requests when it receives something that is not a message', async () => {
    const { peer, close, says } = await openPeer()
    const asked = [peer.request('ahp/event', {}, ask), peer.request('ahp/event', {}, ask)]
    const ends = Promise.allSettled(asked)
    says('rubbish')
    expect(await ends).toMatchObject([
      { reason: { code: 'supervision_protocol' } },
      { reason: { code: 'supervision_protocol' } },
    ])
    expect(peer.gone).toContain('not a message of the protocol')
    expect(close).toHaveBeenCalled()
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: 'supervision_unavailable',
    })
  })

  it('ends when the other side could not parse a request, because answers are no longer reliable', async () => {
    const { peer, says } = await openPeer()
    const asked = peer.request('ahp/event', {}, ask)
    says({ id: null, error: { message: 'parse error' } })
    await expect(asked).rejects.toMatchObject({
      code: 'supervision_protocol',
      message: 'it could not read what it was asked',
    })
  })

  it('tolerates messages that answer nothing, and ends after too many of them', async () => {
    const { peer, sent, says } = await openPeer()
    for (let n = 0; n < 1_000; n++) says({ method: 'ahp/hello' })
    const asked = peer.request('ahp/event', {}, ask)
    says({ id: sent[0]?.id, result: 'still here' })
    expect(await asked).toBe('still here')
    for (let n = 0; n < 1_001; n++) says({ id: 'nobody', result: n })
    expect(peer.gone).toBe('it sent too many messages that answer nothing')
  })

  it('rejects pending requests when the connection is lost, with the reason', async () => {
    const { peer, ends, says } = await openPeer()
    const asked = peer.request('ahp/event', {}, ask)
    ends('it ended with exit code 1')
    await expect(asked).rejects.toMatchObject({
      code: 'supervision_lost',
      message: 'the connection was lost before it had answered: it ended with exit code 1',
    })
    // Only the first reason counts, and nothing is heard after it.
    ends('something else')
    says('rubbish')
    expect(peer.gone).toBe('it ended with exit code 1')
    await expect(peer.notify('ahp/event', {})).rejects.toMatchObject({ code: 'supervision_unavailable' })
  })

  it('closes its wire when it is closed, and when it was lost while it was opened', async () => {
    const { peer, close } = await openPeer()
    await peer.close()
    expect(peer.gone).toBe('it was disconnected')
    expect(close).toHaveBeenCalledTimes(1)
    const late = vi.fn(async () => undefined)
    const lost = await StreamPeer.open(
      async (events) => {
        events.closed('gone already')
        return { send: () => undefined, close: late }
      },
      1_000,
      new AbortController().signal,
    )
    expect(lost.gone).toBe('gone already')
    expect(late).toHaveBeenCalledTimes(1)
  })

  it('rejects a message that is too long, and cuts none', async () => {
    const { peer, sent } = await openPeer(100)
    const long = { text: 'ü'.repeat(60) }
    await expect(peer.request('ahp/event', long, ask)).rejects.toMatchObject({
      code: 'supervision_protocol',
      message: expect.stringContaining('maxMessageBytes is 100'),
    })
    await expect(peer.notify('ahp/event', long)).rejects.toMatchObject({ code: 'supervision_protocol' })
    expect(sent).toEqual([])
  })
})

describe('assertFits', () => {
  it('counts bytes, not characters', () => {
    expect(() => assertFits('üü', 4)).not.toThrow()
    expect(() => assertFits('üü', 3)).toThrow('has 4 bytes')
  })
})

describe('asSupervisionError', () => {
  it('converts every error to one that names the supervisor as unavailable', () => {
    for (const thrown of [new Error('refused'), 'refused'])
      expect(asSupervisionError(thrown)).toMatchObject({
        code: 'supervision_unavailable',
        message: 'refused',
      })
  })
})
