import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { packageJson } from '../house/package-entries.js'
import { root } from '../house/run.js'
import { createUserDirectory } from '../support/compile-cache.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { findPython, pythonFolder, runPython } from './python.js'

const python = await findPython()
// Each module starts Capstan processes; a busy machine takes long for them.
const timeout = 600_000

const modules = ['test_callbacks', 'test_docs', 'test_seed', 'test_server', 'test_session']
const place = sharedDirectory()

describe.skipIf(python === undefined)('the Python package', { timeout }, () => {
  const found = python ?? ''

  let output = ''
  let problem: Error | undefined

  // All modules in one process: each would start Python, and a Capstan process for each of its classes.
  beforeAll(async () => {
    const home = join(place, 'home')
    createUserDirectory(join(home, '.capstan'))
    const env = {
      PYTHONPATH: 'src',
      CAPSTAN_COMMAND: `"${process.execPath}" "${join(root, 'dist/cli/main.js')}"`,
      HOME: home,
      CAPSTAN_LOCAL_MODELS: '',
    }
    output = await runPython(found, ['-W', 'error', '-m', 'tests', ...modules], { env }).catch(
      (error: Error) => {
        problem = error
        return ''
      },
    )
  }, timeout)

  it.each(modules)('passes its own tests against the built command: %s', (module) => {
    expect(problem).toBeUndefined()
    const [line = '{}'] = output.split('\n').filter((each) => each.startsWith(`{"module": "${module}"`))
    const { tests, ok } = JSON.parse(line) as { readonly tests?: number; readonly ok?: boolean }
    expect(ok, output).toBe(true)
    expect(tests).toBeGreaterThan(0)
  })

  it('has blocking classes that are generated from the asyncio ones', async () => {
    await runPython(found, ['scripts/write_sync.py', '--check'])
  })
})

it('the Python package has the version of the npm package', () => {
  const source = readFileSync(join(pythonFolder, 'src/capstan/_version.py'), 'utf8')
  expect(source).toContain(`__version__ = "${packageJson.version}"`)
})
