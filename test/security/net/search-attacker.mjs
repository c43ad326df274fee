// Swaps directories and a file for links to outside, as fast as it can, until it is stopped.
// Usage: search-attacker.mjs <workspace> <outside>
import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const [workspace = '', outside = ''] = process.argv.slice(2)
// One at the top, one a level down (ripgrep comes to it by itself), and a file.
const targets = [
  { at: join(workspace, 'd'), to: outside },
  { at: join(workspace, 'n/d'), to: outside },
  { at: join(workspace, 'f/plain'), to: join(outside, 'secret') },
].map(({ at, to }) => ({ at, aside: `${at}-aside`, link: `${at}-link`, to }))
for (const { link, to } of targets) symlinkSync(to, link)
let swaps = 0

function turn() {
  for (let i = 0; i < 100; i++) {
    for (const { at, aside, link } of targets) {
      renameSync(at, aside)
      renameSync(link, at)
      renameSync(at, link)
      renameSync(aside, at)
      swaps += 1
    }
  }
  setImmediate(turn)
}

process.on('message', () => {
  process.send?.({ swaps })
  process.disconnect()
  process.exit(0)
})
process.send?.('ready')
turn()
