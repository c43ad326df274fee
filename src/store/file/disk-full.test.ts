import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { beforeAll, expect, it } from 'vitest'
import { factor } from '../../../test/support/fault-factor.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'

const top = sharedDirectory()

/** Fills small disks of several sizes, one after the other, and reports how each ended. */
const program = `
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { FileSessionStore } from './store.mjs'
const [place, count] = process.argv.slice(2)
const opener = { holder: 'test', durability: 'exit', now: () => 1 }
const record = (sequence) => ({ type: 'run_event', data: { runId: 'r', sequence, timestampMs: 1, event: 'x'.repeat(700 + (sequence * 131) % 900) } })
const ends = []
mkdirSync(place)
for (let size = 0; size < Number(count); size++) {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=' + (32 + 4 * size) + 'k', 'tmpfs', place])
  writeFileSync(place + '/ballast', Buffer.alloc(8192))
  const store = new FileSessionStore(place + '/sessions')
  const log = await store.open('s', opener)
  let done = 0
  let code
  for (; code === undefined; ) {
    await log.append([record(done), record(done + 1)]).then(() => { done += 2 }, (error) => { code = error.code })
  }
  const later = await log.append([record(done)]).then(() => 'taken', (error) => error.code)
  await log.close()
  const full = store.readSync('s')
  rmSync(place + '/ballast')
  const again = await store.open('s', opener)
  await again.append([record(done)])
  await again.close()
  const { records, damage } = store.readSync('s')
  ends.push({ code, later, kept: full.records.length === done && full.damage === undefined, whole: records.every(({ data }, at) => data.sequence === at) && records.length === done + 1 && damage === undefined, some: done > 0 })
  execFileSync('umount', [place])
}
console.log(JSON.stringify(ends))
`

const canMount =
  spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', top], { stdio: 'ignore' }).status === 0

beforeAll(async () => {
  const source = fileURLToPath(new URL('./file-session-store.ts', import.meta.url))
  const bundle = await rolldown({
    input: source,
    platform: 'node',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  await bundle.write({ file: join(top, 'store.mjs'), format: 'esm' })
  await bundle.close()
  writeFileSync(join(top, 'fill.mjs'), program)
})

it.skipIf(!canMount)(
  'a full disk: the batch is rejected with its own code, all before is saved, and writing works again when there is space',
  async () => {
    const sizes = Math.min(250, 12 * factor)
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['-rm', process.execPath, join(top, 'fill.mjs'), join(top, 'disk'), `${sizes}`],
      { maxBuffer: 1e7 },
    )
    const ends: unknown = JSON.parse(stdout)
    expect(ends).toEqual(
      Array.from({ length: sizes }, () => ({
        code: 'store_full',
        later: 'store_full',
        kept: true,
        whole: true,
        some: true,
      })),
    )
  },
  120_000,
)
