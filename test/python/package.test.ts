import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageJson } from '../house/package-entries.js'
import { root } from '../house/run.js'
import { createUserDirectory } from '../support/compile-cache.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { findPython, pythonFolder, runPython } from './python.js'

const python = await findPython()
// Each module starts Capstan processes; a busy machine takes long for them.
const timeout = 600_000

describe.skipIf(python === undefined)('the Python package', { timeout }, () => {
  const found = python ?? ''

  it.each(['test_callbacks', 'test_docs', 'test_seed', 'test_server', 'test_session'])(
    'passes its own tests against the built command: %s',
    async (module) => {
      const home = temporaryDirectory()
      createUserDirectory(join(home, '.capstan'))
      const env = {
        PYTHONPATH: 'src',
        CAPSTAN_COMMAND: `"${process.execPath}" "${join(root, 'dist/cli/main.js')}"`,
        HOME: home,
        CAPSTAN_LOCAL_MODELS: '',
      }
      const output = await runPython(found, ['-W', 'error', '-m', 'unittest', `tests.${module}`], { env })
      expect(output).toMatch(/\nOK\n/)
    },
  )

  it('has blocking classes that are generated from the asyncio ones', async () => {
    await runPython(found, ['scripts/write_sync.py', '--check'])
  })
})

it('the Python package has the version of the npm package', () => {
  const source = readFileSync(join(pythonFolder, 'src/capstan/_version.py'), 'utf8')
  expect(source).toContain(`__version__ = "${packageJson.version}"`)
})
