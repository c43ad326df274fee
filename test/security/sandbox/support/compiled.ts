import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * A copy of the compiled shell for test hosts that run as processes of their own, or as another user. The global set-up
 * has compiled it.
 */
export function compileShell(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-compiled-'))
  const repository = resolve(import.meta.dirname, '../../../..')
  // The layers that the shell is made of import no packages at load time, so they run from anywhere.
  for (const layer of ['tool', 'authority', 'workspace'])
    cpSync(join(repository, '.build/modules', layer), join(directory, layer), { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  // The shell reads commands to find those that only run git.
  cpSync(join(repository, 'node_modules/unbash'), join(directory, 'node_modules/unbash'), { recursive: true })
  // The host too: a clone may lie where only its owner can look, and every file is made for others to read.
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
