import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../house/run.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { findPython, pythonFolder, runPython } from './python.js'

const python = await findPython()
const timeout = 600_000

it.skipIf(python === undefined)(
  'the wheel of the Python package is built and installed without network, and runs',
  async () => {
    const folder = temporaryDirectory()
    const build = `import sys; sys.path.insert(0, "_build"); import capstan_build as b; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])`
    await runPython(python ?? '', ['-c', build, folder])
    const [wheel, source] = readdirSync(folder).sort()
    expect([source, wheel]).toEqual([
      expect.stringMatching(/^capstan-[\d.]+\.tar\.gz$/),
      expect.stringMatching(/^capstan-[\d.]+-py3-none-any\.whl$/),
    ])
    await runPython(python ?? '', ['-m', 'venv', join(folder, 'venv')])
    const own = join(folder, 'venv/bin/python')
    const offline = ['--no-index', '--disable-pip-version-check', '--quiet']
    // From the sources with the backend of the package, as a user does, then the wheel itself.
    const built = join(folder, 'built')
    await runPython(own, ['-m', 'pip', 'wheel', ...offline, '--no-deps', '-w', built, pythonFolder])
    expect(readdirSync(built)).toEqual([wheel])
    await runPython(own, ['-m', 'pip', 'install', ...offline, join(folder, wheel ?? '')])
    const program = `
import capstan, os
assert os.path.dirname(capstan.__file__).startswith(os.path.realpath(os.environ["HOME"])), capstan.__file__
assert os.path.exists(os.path.join(os.path.dirname(capstan.__file__), "py.typed"))
with capstan.Agent.create() as agent:
    print(agent.session(".").bash("printf installed"))
`
    const env = {
      HOME: folder,
      CAPSTAN_COMMAND: `"${process.execPath}" "${join(root, 'dist/cli/main.js')}"`,
      CAPSTAN_LOCAL_MODELS: '',
    }
    expect(await runPython(own, ['-c', program], { cwd: folder, env })).toContain('installed')
  },
  timeout,
)
