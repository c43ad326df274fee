import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * A copy of the built workspace for test hosts that run as processes of their own, or as another user: a clone may be
 * where only its owner can read. The bundles start in half of the time of single modules. The global set-up has built
 * them.
 */
export function compileShell(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-compiled-'))
  const built = resolve(import.meta.dirname, '../../../../dist')
  for (const name of ['chunks', 'workspace/index.js'])
    cpSync(join(built, name), join(directory, name), { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  copyFileSync(join(import.meta.dirname, 'host.mjs'), join(directory, 'host.mjs'))
  execFileSync('chmod', ['-R', 'a+rX', directory])
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

/**
 * The id of a normal user for these tests, and of no other process: the kernel counts the processes of a user, and
 * refuses new ones above a limit.
 */
export const normalUser = 100_000 + (process.pid % 100_000)

/** The words in front of a command that run it as a normal user; none when we are one. */
export const asNormalUser: readonly string[] | undefined =
  process.getuid?.() === 0
    ? ['setpriv', `--reuid=${normalUser}`, `--regid=${normalUser}`, '--clear-groups', '--']
    : undefined
