import { describe, expect, it } from 'vitest'
import { handshakeOf, readHandshake } from './handshake.js'
import { blockingEvents } from './protocol.js'

const ours = 10_000
const accepted = (fields: object = {}): object => ({ protocol_version: '2.4', ...fields })

describe('handshakeOf', () => {
  it('names the session, the agent and everything that can be supervised', () => {
    const handshake = handshakeOf({ sessionId: 's', agentId: 'a', version: '1.2.3' })
    expect(handshake).toMatchObject({
      protocol_version: '2.4',
      session_id: 's',
      agent_id: 'a',
      agent_info: { framework: 'capstan', version: '1.2.3' },
    })
    expect(handshake['agent_info']).toHaveProperty(
      'capabilities',
      expect.arrayContaining([...blockingEvents, 'post_action', 'batch']),
    )
  })
})

describe('readHandshake', () => {
  it('supervises calls and prompts when the supervisor does not name what it decides about', () => {
    for (const answer of [accepted(), accepted({ harness_info: { capabilities: ['batch', 'unknown'] } })])
      expect([...readHandshake(answer, ours).asks]).toEqual(['pre_action', 'pre_prompt'])
  })

  it('accepts the known names of the supervisor, and ignores others', () => {
    const { asks, takesBatches, name } = readHandshake(
      accepted({ harness_info: { name: 'guard', capabilities: ['planning', 'everything', 'batch'] } }),
      ours,
    )
    expect([...asks]).toEqual(['planning'])
    expect(takesBatches).toBe(true)
    expect(name).toBe('guard')
  })

  it('has default limits when the supervisor requests none', () => {
    for (const config of [undefined, null, {}, { batch_size: null }])
      expect(readHandshake(accepted({ config }), ours)).toMatchObject({
        batchSize: 100,
        maxDepth: 10,
        timeoutMs: ours,
        takesBatches: false,
        name: 'the supervisor',
      })
  })

  it('lets the supervisor request lower limits, never higher ones', () => {
    const less = { batch_size: 2.9, max_depth: 0, timeout_ms: 5 }
    expect(readHandshake(accepted({ config: less }), ours)).toMatchObject({
      batchSize: 2,
      maxDepth: 0,
      timeoutMs: 5,
    })
    const more = { batch_size: 1e9, max_depth: 1e9, timeout_ms: 1e9 }
    expect(readHandshake(accepted({ config: more }), ours)).toMatchObject({
      batchSize: 100,
      maxDepth: 10,
      timeoutMs: ours,
    })
  })

  it('accepts every version with the same major number', () => {
    for (const protocol_version of ['2', '2.0', '2.99.1'])
      expect(readHandshake({ protocol_version }, ours).timeoutMs).toBe(ours)
  })

  it.each([
    ['no object', 'yes', 'not an object'],
    ['a list', [], 'not an object'],
    ['no version', {}, 'names no protocol_version'],
    ['a version that is not a version', { protocol_version: '2.x' }, 'names no protocol_version'],
    ['another version', { protocol_version: '3.0' }, 'it speaks version 3.0 of the protocol, not 2.4'],
    ['harness_info that is not an object', accepted({ harness_info: 'x' }), 'harness_info'],
    ['capabilities that are not list', accepted({ harness_info: { capabilities: 'batch' } }), 'capabilities'],
    ['capabilities that are not names', accepted({ harness_info: { capabilities: [1] } }), 'capabilities'],
    ['config that is not an object', accepted({ config: [] }), 'config'],
    ['a batch of nothing', accepted({ config: { batch_size: 0 } }), 'config.batch_size'],
    ['a depth below zero', accepted({ config: { max_depth: -1 } }), 'config.max_depth'],
    ['a time that is not a number', accepted({ config: { timeout_ms: '5' } }), 'config.timeout_ms'],
    ['a time that is not a time', accepted({ config: { timeout_ms: Number.NaN } }), 'config.timeout_ms'],
  ])('rejects %s', (_, answer, words) => {
    expect(() => readHandshake(answer, ours)).toThrow(words)
    expect(() => readHandshake(answer, ours)).toThrow(
      expect.objectContaining({ code: 'supervision_protocol' }),
    )
  })

  it('repeats only the start of a version that is very long', () => {
    const version = `9${'.1'.repeat(1_000)}`
    expect(() => readHandshake({ protocol_version: version }, ours)).toThrow(/version [\d.]{20} of/)
  })
})
