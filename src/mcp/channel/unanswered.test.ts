import { describe, expect, it } from 'vitest'
import { Unanswered } from './unanswered.js'

const request = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'tools/call' })

describe('Unanswered', () => {
  it('counts a request from its arrival to its answer', () => {
    const open = new Unanswered()
    open.received(request(1))
    open.received(request('two'))
    expect(open.count).toBe(2)
    open.sent({ jsonrpc: '2.0', id: 1, result: {} })
    open.sent({ jsonrpc: '2.0', id: 'two', error: { code: -1, message: 'no' } })
    expect(open.count).toBe(0)
  })

  it('does not count a request that was cancelled', () => {
    const open = new Unanswered()
    open.received(request(1))
    open.received({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(open.count).toBe(0)
  })

  it('keeps a request open when a request of ours has the same id', () => {
    const open = new Unanswered()
    open.received(request(1))
    open.sent({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage' })
    expect(open.count).toBe(1)
  })

  it.each([undefined, null, 'text', [], {}, { jsonrpc: '2.0', id: 1, result: {} }, { method: 7, id: 1 }])(
    'ignores a message that is not a request: %j',
    (message) => {
      const open = new Unanswered()
      open.received(message)
      expect(open.count).toBe(0)
    },
  )
})
