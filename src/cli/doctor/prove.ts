import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { backendsOf, type SandboxBackend, sandboxBackends } from '../../workspace/sandbox/backends.js'
import { doctor } from '../../workspace/sandbox/doctor.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'

/** One attempt to escape from a sandbox, and its result. */
export type Attempt = {
  readonly backend: SandboxBackend
  /** The numeric id of the host user that started the sandbox. */
  readonly user: number
  readonly attempt: string
  readonly result: 'blocked' | 'escaped' | 'not applicable'
  readonly detail: string
}

/**
 * Tries every known escape on each sandbox of this machine, or on the named one. When run as root, tries them again as
 * an ordinary user.
 */
export async function* proveSandboxes(args: Args): AsyncGenerator<Attempt, void, undefined> {
  for (const backend of chosen(args.value('backend'))) {
    yield* await tryAsSelf(backend)
    if (process.getuid?.() === 0) yield* await tryAsOrdinary(backend)
  }
}

/** Writes the attempts as JSON, with the counts for each sandbox and user. */
export async function writeReport(path: string, attempts: readonly Attempt[], io: Io): Promise<void> {
  const groups = grouped(attempts)
  const report = {
    node: process.version,
    kernel: `${process.platform} ${release()} ${process.arch}`,
    runs: Array.from(groups, ([name, tried]) => ({ name, ...countsOf(tried), attempts: tried })),
  }
  await writeFile(join(path.startsWith('/') ? '' : io.cwd, path), `${JSON.stringify(report, undefined, 2)}\n`)
}

/** How many attempts were made, blocked, or did not apply. */
export function countsOf(
  attempts: readonly Attempt[],
): Readonly<Record<'tried' | 'blocked' | 'escaped' | 'notApplicable', number>> {
  const count = (result: Attempt['result']): number =>
    attempts.filter((each) => each.result === result).length
  const notApplicable = count('not applicable')
  return {
    tried: attempts.length - notApplicable,
    blocked: count('blocked'),
    escaped: count('escaped'),
    notApplicable,
  }
}

function grouped(attempts: readonly Attempt[]): Map<string, Attempt[]> {
  const groups = new Map<string, Attempt[]>()
  for (const attempt of attempts) {
    const name = groupName(attempt)
    groups.set(name, [...(groups.get(name) ?? []), attempt])
  }
  return groups
}

function groupName({ backend, user }: Attempt): string {
  return `${backend}, ${user === 0 ? 'as root' : 'as an ordinary user'}`
}

function chosen(name: string | undefined): readonly SandboxBackend[] {
  if (name === undefined) return backendsOf(process.platform)
  const backend = sandboxBackends.find((each) => each === name)
  if (backend === undefined)
    throw new CommandLineError(`Unknown sandbox: ${name}`, `Use one of: ${sandboxBackends.join(', ')}.`)
  return [backend]
}

async function tryAsSelf(backend: SandboxBackend): Promise<Attempt[]> {
  const user = process.getuid?.() ?? -1
  const [found, ...checks] = await doctor({ backend })
  if (found === undefined || !found.held)
    return [
      { backend, user, attempt: 'all', result: 'not applicable', detail: found?.detail ?? 'no sandbox' },
    ]
  // The check that commands work is not an attempt. It is only included when it fails, because then nothing was proven.
  const attempts = checks.filter(({ check, held }) => !(held && check === 'commands work inside'))
  return attempts.map(({ check, held, detail, applies }) => ({
    backend,
    user,
    attempt: check,
    result: applies === false ? 'not applicable' : held ? 'blocked' : 'escaped',
    detail,
  }))
}

const unprivileged = 65_534

/** Runs this command again as a user without privileges. */
async function tryAsOrdinary(backend: SandboxBackend): Promise<Attempt[]> {
  const place = await mkdtemp(join(tmpdir(), 'capstan-prove-'))
  // Two separate directories, because the sandbox hides the home directory, and the attempts use the temporary one.
  const [home, tmp] = [join(place, 'home'), join(place, 'tmp')]
  try {
    await chmod(place, 0o755)
    for (const directory of [home, tmp]) {
      await mkdir(directory)
      await chown(directory, unprivileged, unprivileged)
    }
    const main = await realpath(process.argv[1] ?? '')
    if (!main.endsWith('/cli/main.js')) throw new Error('the command runs inside another program')
    const words = [
      `--reuid=${unprivileged}`,
      `--regid=${unprivileged}`,
      '--clear-groups',
      '--',
      process.execPath,
    ]
    const command = ['doctor', '--prove', '--backend', backend, '--json']
    const lines = await linesOf('setpriv', [...words, main, ...command], {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: home,
      TMPDIR: tmp,
    })
    return lines.map((line) => JSON.parse(line) as Attempt)
  } catch (error) {
    const why = messageOf(error).split('\n').slice(0, 2).join(' ')
    const detail = `cannot be tried as an ordinary user: ${why}`
    return [{ backend, user: unprivileged, attempt: 'all', result: 'not applicable', detail }]
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

function linesOf(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { env, cwd: '/', timeout: 300_000 }, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.startsWith('{"backend"'))
      // The command also fails after an escape, but then it has printed its report.
      if (lines.length > 0) resolve(lines)
      else reject(error ?? new Error('it printed nothing'))
    })
  })
}
