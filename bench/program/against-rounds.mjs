// The same 50 calls of `read`: one after the other through the model, and in one program that the model writes.
import { hostOptions } from '../loop/host-options.mjs'
import { openWorkplace } from '../loop/workplace.mjs'
import { spread } from '../measure.mjs'

const count = 50

/**
 * @param {number} rounds
 * @returns {Promise<{ name: string, millis: import('../measure.mjs').Spread, cpu: import('../measure.mjs').Spread,
 * bytes: number }[]>}
 */
export async function measureAgainstRounds(rounds) {
  const workplace = await openWorkplace()
  try {
    const found = []
    for (const [plan, name] of /** @type {const} */ ([
      [`rounds-${count}`, `${count} calls, each a round of the model`],
      [`program-${count}`, `${count} calls in one program`],
    ])) {
      const agent = await workplace.agentFor(plan)
      const samples = []
      const processor = []
      for (let at = 0; at < rounds + 3; at++) {
        const session = agent.session(workplace.root, hostOptions)
        const start = performance.now()
        const before = process.cpuUsage()
        const { text } = await session.send('Read all of it.')
        const spent = performance.now() - start
        // The CPU time of all threads.
        const { user, system } = process.cpuUsage(before)
        if (text !== 'It is done.') throw new Error(text)
        if (at >= 3) {
          samples.push(spent)
          processor.push((user + system) / 1_000)
        }
        await session.close()
      }
      // The last request contains everything that the model received.
      const bytes = Buffer.byteLength(await workplace.server.lastBody())
      found.push({ name, millis: spread(samples), cpu: spread(processor), bytes })
    }
    return found
  } finally {
    await workplace.leave()
  }
}
