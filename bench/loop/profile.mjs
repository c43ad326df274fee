// One contender's rounds, over and over, for a profile: `node --cpu-prof bench/loop/profile.mjs
// everything|exit|unrecorded|bare|fetch RUNS`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readIn } from '../peers/contract.mjs'
import { peer as byHand } from '../peers/fetch.mjs'
import { hostOptions } from './host-options.mjs'
import { openCapstan, openEverything } from './open-capstan.mjs'
import { openWorkplace } from './workplace.mjs'

const [what = 'everything', runs = '40'] = process.argv.slice(2)
const count = 50
const workplace = await openWorkplace()
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-profile-'))
const { read } = readIn(workplace.root)
const where = {
  url: `${workplace.server.url}/rounds-${count}/v1`,
  root: workplace.root,
  place,
  read,
  rounds: count,
}
const openings = {
  everything: () => openEverything(where),
  exit: () => openEverything(where, 'exit'),
  bare: () => openCapstan(where, { permissionPolicy: { allow: ['read(*)'] } }),
  unrecorded: () => openCapstan(where, hostOptions),
  fetch: () => byHand.open(where),
}
const opened = await openings[/** @type {keyof typeof openings} */ (what)]()
let before = process.cpuUsage()
for (let run = -10; run < Number(runs); run++) {
  if (run === 0) before = process.cpuUsage()
  const conversation = opened.conversation([])
  await conversation.ask('Read all of it.', { stream: true })
  await conversation.close?.()
}
const { user, system } = process.cpuUsage(before)
const each = (/** @type {number} */ micros) => (micros / 1000 / count / Number(runs)).toFixed(3)
console.log(`${what}: ${each(user + system)} ms CPU a round, of which ${each(system)} in the system`)
await opened.close?.()
await workplace.leave()
rmSync(place, { recursive: true, force: true })
