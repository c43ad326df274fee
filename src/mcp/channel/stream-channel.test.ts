import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import type { Message } from './channel.js'
import { StreamChannel } from './stream-channel.js'
import { Unanswered } from './unanswered.js'

async function open(drainMs?: number) {
  const input = new PassThrough()
  const output = new PassThrough()
  const channel = new StreamChannel(input, output, drainMs)
  const messages: Message[] = []
  const onclose = vi.fn()
  const onerror = vi.fn()
  Object.assign(channel, { onmessage: (message: Message) => messages.push(message), onclose, onerror })
  await channel.start()
  return { input, output, channel, messages, onclose, onerror }
}

/** All that was written. Newer versions of Node read one piece at a time. */
function textIn(output: PassThrough): string {
  let text = ''
  for (let piece = output.read(); piece !== null; piece = output.read()) text += piece
  return text
}

const request = (id: number): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'x' })}\n`
const answer = (id: number): Message => ({ jsonrpc: '2.0', id, result: {} })

describe('StreamChannel', () => {
  it('reads and writes one message per line, as text or bytes', async () => {
    const { input, output, channel, messages } = await open()
    input.write(request(1))
    input.write(Buffer.from(request(2)))
    await expect.poll(() => messages).toMatchObject([{ id: 1 }, { id: 2 }])
    await channel.send(answer(1))
    expect(textIn(output)).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n')
  })

  it('closes at the end of the input when no request waits for an answer', async () => {
    const { input, onclose, channel } = await open(60_000)
    input.end()
    await expect.poll(() => onclose.mock.calls).toHaveLength(1)
    await expect(channel.send(answer(1))).rejects.toThrow('the client has disconnected')
  })

  it('answers requests that arrived before the end of the input, then closes', async () => {
    const { input, output, onclose, channel, messages } = await open(60_000)
    input.end(request(1) + request(2))
    await expect.poll(() => messages).toHaveLength(2)
    await expect.poll(() => input.readableEnded).toBe(true)
    await channel.send(answer(1))
    expect(onclose).not.toHaveBeenCalled()
    await channel.send(answer(2))
    expect(onclose).toHaveBeenCalledTimes(1)
    expect(textIn(output).trimEnd().split('\n')).toHaveLength(2)
  })

  it('does not wait for answers longer than its time limit', async () => {
    for (const drainMs of [0, 1]) {
      const { input, onclose } = await open(drainMs)
      input.end(request(1))
      await expect.poll(() => onclose.mock.calls).toHaveLength(1)
    }
  })

  it('closes when a stream breaks', async () => {
    for (const side of ['input', 'output'] as const) {
      const opened = await open()
      opened[side].destroy(new Error('broken'))
      await expect.poll(() => opened.onclose.mock.calls).toHaveLength(1)
    }
  })

  it('closes once, however often close is called', async () => {
    const { channel, onclose } = await open()
    await channel.close()
    await channel.close()
    expect(onclose).toHaveBeenCalledTimes(1)
  })

  it('closes at a line that never ends', async () => {
    const { input, onerror, onclose } = await open()
    for (let mb = 0; mb < 11; mb++) input.write('x'.repeat(1024 * 1024))
    await expect.poll(() => onclose.mock.calls).toHaveLength(1)
    expect(onerror.mock.calls[0]?.[0]).toMatchObject({
      message: expect.stringContaining('it sent a message of more'),
    })
  })
})

describe('Unanswered', () => {
  it('counts requests that have neither an answer nor a cancellation', () => {
    const open = new Unanswered()
    for (const id of [1, '1', 2]) open.received({ id, method: 'x' })
    open.received({ method: 'notifications/progress' })
    open.received({ id: 9, result: {} })
    open.received('rubbish')
    expect(open.count).toBe(3)
    open.sent({ id: 1, result: {} })
    open.sent({ id: '1', method: 'roots/list' })
    open.received({ method: 'notifications/cancelled', params: { requestId: 2 } })
    expect(open.count).toBe(1)
    open.sent({ id: '1', error: {} })
    expect(open.count).toBe(0)
  })
})
