// One side of a part in a separate process.
import { performance } from 'node:perf_hooks'

const [file = '', name = '', where = '{}'] = process.argv.slice(2)
/** @type {{ sides: Record<string, import('./sides.mjs').Side> }} */
const { sides } = await import(file)
const side = await sides[name]?.open?.(JSON.parse(where))
if (side === undefined) throw new Error(`${name} cannot be opened`)

process.on(
  'message',
  (/** @type {{ id: number, do: 'runs' | 'end', work: import('./sides.mjs').SideWork }} */ order) => {
    const doing = order.do === 'end' ? end() : runs(order.work)
    doing.then(
      (result) => process.send?.({ id: order.id, result }),
      (error) =>
        process.send?.({ id: order.id, error: error instanceof Error ? error.stack : String(error) }),
    )
  },
)
process.once('disconnect', () => process.exit())
process.send?.({ ready: {} })

/** @param {import('./sides.mjs').SideWork} given */
async function runs(given) {
  const { slow = 1 } = side ?? {}
  const work = { ...given, times: Math.max(1, Math.round(given.times / slow)) }
  const share = given.times / work.times
  await side?.before?.(work)
  const used = process.cpuUsage()
  const start = performance.now()
  await side?.run(work)
  const wall = (performance.now() - start) * share
  const { user, system } = process.cpuUsage(used)
  const facts = (await side?.facts?.(work)) ?? {}
  const cpu = ((user + system) / 1000) * share
  return { cpu, wall, rss: process.memoryUsage.rss() / 2 ** 20, walls: [wall], facts }
}

async function end() {
  await side?.close?.()
  setImmediate(() => process.exit())
}
