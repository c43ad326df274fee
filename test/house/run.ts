import { execFile } from 'node:child_process'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { downloadEnvironment } from '../support/download-environment.mjs'

/** The folder of the package. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string }
export type RunOptions = {
  readonly cwd?: string
  readonly timeout?: number
  /** Variables in addition to the usual ones. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs a program to its end, without input; a code other than 0 is an answer, not an exception. The pipe of its input
 * is closed: the command waits three seconds for one that stays open.
 */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { cwd = root, timeout = 300_000 } = options
  // npm is a script there, not a program, and only a shell starts those.
  const shell = process.platform === 'win32' && (file === 'npm' || file.endsWith('.cmd'))
  const env = { ...cleanEnvironment(), ...options.env }
  const settings = { cwd, timeout, shell, env, maxBuffer: 64 * 1024 * 1024 }
  return new Promise((resolve, reject) => {
    const child = execFile(file, [...args], settings, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr })
      else if (error.killed) reject(new Error(`${[file, ...args].join(' ')} took longer than ${timeout} ms`))
      else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr })
      else reject(error)
    })
    child.stdin?.end()
  })
}

export function runNode(args: readonly string[], options?: RunOptions): Promise<Outcome> {
  return run(process.execPath, args, options)
}

/** Runs the npm that runs these tests, or the one on the path when they were started without one. */
export function runNpm(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const npm = process.env['npm_execpath']
  const { NODE_EXTRA_CA_CERTS: certificates } = downloadEnvironment()
  const env = { ...options.env, ...(certificates !== undefined && { NODE_EXTRA_CA_CERTS: certificates }) }
  const isNpm = npm !== undefined && basename(npm) === 'npm-cli.js'
  return isNpm ? runNode([npm, ...args], { ...options, env }) : run('npm', args, { ...options, env })
}

export function runTsc(args: readonly string[], options?: RunOptions): Promise<Outcome> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  // In one thread and without collecting garbage (`tscEnvironment`): a quarter less processor time.
  return runNode([tsc, '--pretty', 'false', '--singleThreaded', ...args], {
    ...options,
    env: { GOGC: 'off' },
  })
}

/** Everything that a program printed, for the message of a failed expectation. */
export function printed({ code, stdout, stderr }: Outcome): string {
  return `exit code ${code}\n${stdout}${stderr}`
}

/** The environment of a user's terminal: without what the test runner and the npm around it have put there. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign =
    /^(VITEST|TEST$|NODE_ENV$|NODE_OPTIONS$|FORCE_COLOR$|npm_package_|npm_lifecycle_|npm_config_local_prefix$)/
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return { ...Object.fromEntries(kept), NO_COLOR: '1' }
}
