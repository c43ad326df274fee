// Sessions that begin at once, over and over, for a profile:
// `node bench/loop/profile-sessions.mjs everything|exit|unrecorded|bare|fetch TURNS AT-ONCE WARM-UPS FILE.cpuprofile`.
// The profile is of the turns after the warm-ups: code that was just loaded runs several times slower.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { readIn } from '../peers/contract.mjs'
import { peer as byHand } from '../peers/fetch.mjs'
import { openCapstan, openEverything } from './open-capstan.mjs'
import { hostOptions } from './rounds.mjs'
import { openWorkplace } from './workplace.mjs'

const [what = 'bare', turns = '20', atOnce = '200', warmUps = '10', profile] = process.argv.slice(2)
const rounds = 3
const workplace = await openWorkplace()
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-profile-'))
const { read } = readIn(workplace.root)
const where = {
  url: `${workplace.server.url}/rounds-${rounds}/v1`,
  root: workplace.root,
  place,
  read,
  rounds,
}
const openings = {
  everything: () => openEverything(where),
  exit: () => openEverything(where, 'exit'),
  bare: () => openCapstan(where, { permissionPolicy: { allow: ['read(*)'] } }),
  unrecorded: () => openCapstan(where, hostOptions),
  fetch: () => byHand.open(where),
}
const opened = await openings[/** @type {keyof typeof openings} */ (what)]()
const count = Number(atOnce)
/** @type {number[]} */
const walls = []
/** @type {number[]} */
const turnCosts = []
const inspector = new Session()
inspector.connect()
for (let turn = -Number(warmUps); turn < Number(turns); turn++) {
  if (turn === 0 && profile !== undefined) {
    await inspector.post('Profiler.enable')
    await inspector.post('Profiler.setSamplingInterval', { interval: 250 })
    await inspector.post('Profiler.start')
  }
  const before = process.cpuUsage()
  await Promise.all(
    Array.from({ length: count }, async () => {
      const start = performance.now()
      const conversation = opened.conversation([])
      await conversation.ask('Read all of it.', { stream: true })
      await conversation.close?.()
      if (turn >= 0) walls.push(performance.now() - start)
    }),
  )
  const { user, system } = process.cpuUsage(before)
  turnCosts.push((user + system) / 1000 / count)
}
if (profile !== undefined)
  writeFileSync(profile, JSON.stringify((await inspector.post('Profiler.stop')).profile))
inspector.disconnect()
const warm = turnCosts.slice(Number(warmUps)).sort((a, b) => a - b)
const cold = turnCosts[0] ?? Number.NaN
walls.sort((a, b) => a - b)
const middle = warm[warm.length >> 1] ?? Number.NaN
const best = warm[0] ?? Number.NaN
const p99 = walls[Math.floor(walls.length * 0.99)] ?? Number.NaN
console.log(
  `${count} at once, ${what}: ${middle.toFixed(2)} ms CPU a session (best ${best.toFixed(2)}), ${cold.toFixed(2)} in the first turn; p99 ${p99.toFixed(0)} ms`,
)
await opened.close?.()
await workplace.leave()
rmSync(place, { recursive: true, force: true })
