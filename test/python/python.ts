import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../house/run.js'

const run = promisify(execFile)

export const pythonFolder = join(root, 'clients/python')

/**
 * The Python that tests use: `CAPSTAN_TEST_PYTHON` or `python3`. Undefined, with a message, when there is none that is
 * new enough and has these modules.
 */
export async function findPython(...modules: readonly string[]): Promise<string | undefined> {
  const command = process.env['CAPSTAN_TEST_PYTHON'] ?? 'python3'
  const imports = ['sys', ...modules].join(', ')
  const probe = `import ${imports}; print(sys.executable if sys.version_info >= (3, 10) else "")`
  try {
    const { stdout } = await run(command, ['-c', probe])
    const found = stdout.trim()
    if (found !== '') return found
    console.info(`The tests of the Python package are skipped: ${command} is older than Python 3.10.`)
  } catch (error) {
    console.info(`The tests of the Python package are skipped: ${command} cannot be run (${String(error)}).`)
  }
  return undefined
}

/** Runs a program and gives its whole output. A failure has the output in its message. */
export async function runPython(
  python: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  const env = { PATH, HOME, ...(TMPDIR !== undefined && { TMPDIR }), PYTHONDONTWRITEBYTECODE: '1' }
  try {
    const { stdout, stderr } = await run(python, [...args], {
      cwd: options.cwd ?? pythonFolder,
      env: { ...env, ...options.env },
      maxBuffer: 64 * 1024 * 1024,
    })
    return `${stdout}${stderr}`
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string }
    throw new Error(`${python} ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}${String(error)}`, {
      cause: error,
    })
  }
}
