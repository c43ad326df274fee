// @ts-nocheck: plain JavaScript, run as it is.
// A process that writes one session until it cannot. Started by faults.test.ts with an order.
import { setTimeout as wait } from 'node:timers/promises'
import { openStore, say } from '../support/host-parts.mjs'

const store = openStore()
const log = await store.open('s', { holder: 'the writer', now: () => 1 })
for (let sequence = 0; ; sequence++) {
  try {
    await log.append([
      { type: 'run_event', data: { runId: 'r', sequence, timestampMs: 1, event: { type: 'note' } } },
    ])
  } catch (error) {
    say({ failed: error.code })
    break
  }
  if (sequence % 10 === 0) say({ acknowledged: sequence + 1 })
  await wait(5)
}
await store.close()
