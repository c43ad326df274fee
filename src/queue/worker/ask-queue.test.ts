import { getEventListeners } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { askOverStreams } from './ask-queue.js'

it('leaves no listener on the signal of a worker that polls for years', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  output.on('data', (line: Buffer) => {
    const { id } = JSON.parse(String(line)) as { id: number }
    input.write(`${JSON.stringify({ id, result: { tasks: [] } })}\n`)
  })
  const queue = askOverStreams({ input, output })
  const { signal } = new AbortController()
  for (let at = 0; at < 5; at++) await queue.ask('claim', {}, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  queue.close()
})
