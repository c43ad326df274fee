import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readQueueConfig } from '../config.js'
import { LocalEngine } from '../local-engine.js'
import { serveStream } from './stream.js'

it('disconnects a worker that sends an endless line', async () => {
  const engine = new LocalEngine(readQueueConfig({}), () => 'lease')
  const [input, output] = [new PassThrough(), new PassThrough()]
  serveStream(engine.board, { input, output }, 'w')
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  for (let at = 0; at < 9; at++) if (!input.write(chunk) && at < 8) await once(input, 'drain')
  await new Promise((resolve) => setImmediate(resolve))
  expect(input.isPaused()).toBe(true)
})
