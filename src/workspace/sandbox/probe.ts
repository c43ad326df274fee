import { execFile } from 'node:child_process'
import { access, constants, readFile } from 'node:fs/promises'
import { childEnvironment } from '../shell/child-env.js'
import { guardProgram, underGuard } from './guard/guard.js'

/** The sandbox that works on this machine, or why none does. */
export type SandboxDetection =
  | {
      readonly kind: 'bubblewrap'
      readonly path: string
      readonly version: string
      /** Why missing control files are held by placeholders in the workspace; absent where the guard works. */
      readonly unguarded?: string | undefined
    }
  | { readonly kind: 'none'; readonly reason: string; readonly advice: string }

/** Fixed places: a search path could lead to a program that the workspace brought along. */
const places = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap']

const install =
  'Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), or set sandbox to "off" to run commands without one. Landlock and other sandboxes are not implemented.'

/** Finds out whether this machine can give a sandbox. It is tried, since being installed says little. */
export async function detectSandbox(candidates: readonly string[] = places): Promise<SandboxDetection> {
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      reason: `there is no sandbox for ${process.platform} yet, only bubblewrap on Linux`,
      advice: 'Run on Linux or in a container, or set sandbox to "off" to run commands without one.',
    }
  }
  const path = await firstExecutable(candidates)
  if (path === undefined) return { kind: 'none', reason: 'bubblewrap is not installed', advice: install }
  const version = await run(path, ['--version'])
  const unguarded = await tryGuard(path)
  const trial =
    unguarded === undefined
      ? { code: 0, output: '' }
      : await run(path, [...namespaces, '--', '/bin/sh', '-c', 'exit 0'])
  if (version.code === 0 && trial.code === 0) {
    return {
      kind: 'bubblewrap',
      path,
      version: version.output.replace('bubblewrap', '').trim(),
      ...(unguarded === undefined ? {} : { unguarded }),
    }
  }
  return explain(path, (trial.code === 0 ? version : trial).output.trim())
}

/** Starts a command under the guard, in a sandbox. Returns why that does not work. */
async function tryGuard(bwrap: string): Promise<string | undefined> {
  const program = await guardProgram()
  if (program === undefined) return `there is no guard for ${process.arch}`
  const script =
    'mkdir /run/free || exit 1; mkdir /run/free/.git 2>/dev/null && { echo ".git was made"; exit 1; }; [ -e /run/free/.git ] || echo held'
  const words = underGuard(
    ['/bin/sh', '-c', script],
    { names: [], gitRoots: ['/run'] },
    { program: '/run/guard' },
  )
  const { code, output } = await run(
    bwrap,
    [...namespaces, '--perms', '0555', '--file', '0', '/run/guard', '--as-pid-1', '--', ...words],
    program,
  )
  return code === 0 && /^held$/m.test(output) ? undefined : `the guard does not work here (${output.trim()})`
}

const namespaces = [
  ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--size', '65536', '--tmpfs', '/run'],
  ...[
    '--unshare-all',
    '--unshare-user',
    '--disable-userns',
    '--cap-drop',
    'ALL',
    '--new-session',
    '--die-with-parent',
  ],
]

async function explain(path: string, output: string): Promise<SandboxDetection> {
  const none = (reason: string, advice: string): SandboxDetection => ({ kind: 'none', reason, advice })
  if (/unknown option/i.test(output)) {
    return none(`${path} is too old (${output})`, 'Install bubblewrap 0.8 or newer.')
  }
  if (/mount.*proc/i.test(output)) {
    return none(
      `${path} may not mount /proc here (${output})`,
      'This is a container that masks /proc: start it with systempaths=unconfined, or set sandbox to "off" and let the container be the sandbox.',
    )
  }
  if (/namespace|uid map|permission|operation not permitted/i.test(output)) {
    return none(
      `user namespaces are switched off${await userNamespaceSettings()} (${output})`,
      'Allow them (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), or set sandbox to "off".',
    )
  }
  return none(`${path} does not work (${output || 'it said nothing'})`, install)
}

async function userNamespaceSettings(): Promise<string> {
  const names = [
    'kernel/unprivileged_userns_clone',
    'user/max_user_namespaces',
    'kernel/apparmor_restrict_unprivileged_userns',
  ]
  const found = await Promise.all(
    names.map(async (name) => {
      const value = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined)
      return value === undefined ? [] : [`${name.replace('/', '.')}=${value.trim()}`]
    }),
  )
  const settings = found.flat()
  return settings.length === 0 ? '' : `: ${settings.join(', ')}`
}

async function firstExecutable(candidates: readonly string[]): Promise<string | undefined> {
  for (const path of candidates) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return path
  }
  return undefined
}

function run(
  file: string,
  args: readonly string[],
  input?: Uint8Array,
): Promise<{ code: number; output: string }> {
  const env = childEnvironment({ home: '/', tmp: '/tmp', marker: 'probe' })
  return new Promise((resolve) => {
    const child = execFile(file, [...args], { env, cwd: '/', timeout: 10_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` || (error?.message ?? '') })
    })
    // It may end without reading.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(input)
  })
}
