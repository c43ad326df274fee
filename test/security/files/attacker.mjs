// Swaps a directory and a link to outside, as fast as it can, until it is stopped. Usage: attacker.mjs <workspace>
// <outside>
import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

const [workspace = '', outside = ''] = process.argv.slice(2)
const at = join(workspace, 'd')
const aside = join(workspace, 'd-aside')
let swaps = 0
let made = 0

/** A writer may create the directory again while it is moved away; then that one is put aside.
 * @param {() => void} put */
function inPlace(put) {
  for (;;) {
    try {
      return put()
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
      if (code !== 'EEXIST' && code !== 'ENOTEMPTY') throw thrown
      renameSync(at, join(workspace, `made-${made++}`))
    }
  }
}

function turn() {
  for (let i = 0; i < 200; i++) {
    renameSync(at, aside)
    inPlace(() => symlinkSync(outside, at))
    unlinkSync(at)
    inPlace(() => renameSync(aside, at))
    swaps += 2
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
