import { describe, expect, it, onTestFinished } from 'vitest'
import { type Peer, type PeerOptions, startPeer } from '../../test/supervise/support.js'
import { Connection } from './connection.js'
import type { AhpOptions } from './transport.js'

const who = { sessionId: 's', agentId: 'a', version: '0.0.0' }

async function connect(options: PeerOptions = {}, settings: AhpOptions = {}) {
  const peer = await startPeer('unix_socket', options)
  onTestFinished(() => peer.stop())
  const connection = new Connection(peer.transport(undefined, { reconnectMs: 0, ...settings }), who)
  onTestFinished(() => connection.close())
  return { peer, connection }
}

const handshakes = ({ messages }: Peer): number =>
  messages.filter(({ method }) => method === 'ahp/handshake').length

describe('Connection', () => {
  it('connects at its first use, once for all concurrent callers', async () => {
    const { peer, connection } = await connect()
    expect(connection.isUp).toBe(false)
    expect(handshakes(peer)).toBe(0)
    const [first, second] = await Promise.all([connection.link(), connection.link()])
    expect(first).toBe(second)
    expect(await connection.link()).toBe(first)
    expect(handshakes(peer)).toBe(1)
    expect(connection).toMatchObject({ isUp: true, problem: undefined, agreed: { name: 'peer' } })
  })

  it('connects again at the next use after it was lost', async () => {
    const { peer, connection } = await connect()
    const { peer: before } = await connection.link()
    await peer.stop()
    await expect.poll(() => before.gone).toBeDefined()
    await expect(connection.link()).rejects.toMatchObject({ code: 'supervision_unavailable' })
    expect(connection.isUp).toBe(false)
    expect(connection.problem?.code).toBe('supervision_unavailable')
    await peer.start()
    await connection.link()
    expect(connection).toMatchObject({ isUp: true, problem: undefined })
  })

  it('does not try again before the pause is over, and reports the last error', async () => {
    const { peer, connection } = await connect({}, { reconnectMs: 60_000 })
    await peer.stop()
    await expect(connection.link()).rejects.toMatchObject({ code: 'supervision_unavailable' })
    await peer.start()
    await expect(connection.link()).rejects.toThrow(/; it is tried again in \d+ ms$/)
    expect(handshakes(peer)).toBe(0)
  })

  it('pauses before it replaces a connection that answered nothing, and not after one that did', async () => {
    const { peer, connection } = await connect({}, { reconnectMs: 60_000 })
    const { peer: first } = await connection.link()
    connection.answered()
    await first.close()
    const { peer: second } = await connection.link()
    expect(handshakes(peer)).toBe(2)
    await second.close()
    await expect(connection.link()).rejects.toThrow('it is tried again in')
    expect(handshakes(peer)).toBe(2)
  })

  it('is not used with a supervisor whose handshake is invalid', async () => {
    const { connection } = await connect({ config: { timeout_ms: -1 } })
    await expect(connection.link()).rejects.toMatchObject({
      code: 'supervision_protocol',
      message: expect.stringContaining('config.timeout_ms'),
    })
    expect(connection).toMatchObject({ isUp: false, agreed: undefined })
  })

  it('rejects use after it was closed', async () => {
    const { connection } = await connect()
    await connection.link()
    await connection.close()
    await expect(connection.link()).rejects.toThrow('the session is closed')
    expect(connection.isUp).toBe(false)
  })

  it('aborts a connection attempt when it is closed', async () => {
    const { connection } = await connect()
    const linking = connection.link()
    const ended = linking.then(
      ({ peer }) => peer.gone,
      (error) => error.message,
    )
    await connection.close()
    expect(await ended).toBeDefined()
    expect(connection.isUp).toBe(false)
  })
})
