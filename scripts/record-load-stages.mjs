// Records `load-stages.json` after a build: `node scripts/record-load-stages.mjs` bundles each module as a separate file
// and runs a program. A list that is out of date only costs time; `test/house/start.test.ts` counts what is loaded.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { bundleLibrary } from './bundle.mjs'
import { moduleOfFile, stagesFile } from './load-stages.mjs'

const root = resolve(import.meta.dirname, '..')
const modules = join(root, '.build/modules')
const place = mkdtempSync(join(tmpdir(), 'load-stages-'))
try {
  await bundleLibrary(modules, join(place, 'dist'), { oneByOne: true })
  cpSync(join(root, 'package.json'), join(place, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/load-stages-program.mjs'), place],
    { encoding: 'utf8', cwd: place, timeout: 120_000 },
  )
  if (status !== 0) throw new Error(stderr)
  /** @type {Record<string, string[]>} */
  const files = JSON.parse(stdout)
  const isOwn = (/** @type {string} */ path) => existsSync(join(modules, `${path}.js`))
  const stages = Object.entries(files).map(([stage, names]) => [
    stage,
    names.map(moduleOfFile).filter(isOwn).sort(),
  ])
  writeFileSync(stagesFile, `${JSON.stringify(Object.fromEntries(stages), null, 2)}\n`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
