// A tree that looks like a large project, the same in every run.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomFrom } from '../synthetic.mjs'

const words =
  'const let return await import export function value result index name path error line total'.split(' ')

/**
 * Makes `files` files of about 30 lines below `root`, a hundred in each directory. `needle` is in every 500th,
 * `common` in all.
 * @param {string} root
 * @param {number} files
 */
export function makeTree(root, files) {
  const random = randomFrom(7)
  const bodies = Array.from({ length: 50 }, () => text(random))
  for (let at = 0; at < files; at += 1) {
    const directory = join(root, `area-${Math.floor(at / 2_500)}`, `module-${Math.floor(at / 100)}`)
    if (at % 100 === 0) mkdirSync(directory, { recursive: true })
    const mark = at % 500 === 0 ? 'needle' : 'nothing'
    const name = `file-${at}.${at % 4 === 0 ? 'ts' : 'js'}`
    writeFileSync(join(directory, name), `${bodies[at % bodies.length]}// ${mark} common ${at}\n`)
  }
}

/** @param {() => number} random */
function text(random) {
  const line = () => Array.from({ length: 8 }, () => words[Math.floor(random() * words.length)]).join(' ')
  return `${Array.from({ length: 30 }, line).join('\n')}\n`
}
