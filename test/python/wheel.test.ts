import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../house/run.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { findPython, pythonFolder, runPython } from './python.js'

const python = await findPython('venv', 'ensurepip')
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
    await runPython(python ?? '', ['-m', 'venv', '--without-pip', join(folder, 'venv')])
    const own = join(folder, 'venv/bin/python')
    // From the sources, as a user does: pip calls the backend of the package. The pip that Python comes with runs from
    // its own wheel, because installing it takes longer than all the rest.
    const find =
      'import ensurepip, glob, os; print(*glob.glob(os.path.join(os.path.dirname(ensurepip.__file__), "_bundled/pip-*.whl")), *glob.glob("/usr/share/python-wheels/pip-*.whl"))'
    const [pip = ''] = (await runPython(own, ['-c', find])).trim().split(' ')
    const install = ['-m', 'pip', 'install', '--no-index', '--disable-pip-version-check', pythonFolder]
    await runPython(own, install, { env: { PYTHONPATH: pip } })
    const program = `
import capstan, os
assert "site-packages" in capstan.__file__, capstan.__file__
assert os.path.exists(os.path.join(os.path.dirname(capstan.__file__), "py.typed"))
with capstan.Agent.create() as agent:
    print(agent.session(".").bash("printf installed"))
`
    const [home, work] = [join(folder, 'home'), join(folder, 'work')]
    for (const directory of [home, work]) mkdirSync(directory)
    const env = {
      HOME: home,
      CAPSTAN_COMMAND: `"${process.execPath}" "${join(root, 'dist/cli/main.js')}"`,
      CAPSTAN_LOCAL_MODELS: '',
    }
    expect(await runPython(own, ['-c', program], { cwd: work, env })).toContain('installed')
  },
  timeout,
)
