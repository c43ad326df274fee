import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** The shell compiled to plain JavaScript, for test hosts that run as processes of their own, or as another user. */
export function compileShell(): { readonly directory: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-compiled-'))
  const repository = resolve(import.meta.dirname, '../../../..')
  execFileSync(
    process.execPath,
    [
      'node_modules/typescript/bin/tsc',
      '--ignoreConfig',
      ...[
        '--outDir',
        directory,
        '--rootDir',
        'src',
        '--target',
        'es2023',
        '--lib',
        'es2023,dom,dom.iterable',
      ],
      // Types are checked elsewhere, and a test run must not depend on what others are writing.
      ...['--types', 'node', '--module', 'nodenext', '--noCheck'],
      'src/workspace/shell/local-shell.ts',
      'src/workspace/sandbox/doctor.ts',
    ],
    { cwd: repository, stdio: 'pipe' },
  )
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  // The shell reads commands to find those that only run git.
  cpSync(join(repository, 'node_modules/unbash'), join(directory, 'node_modules/unbash'), { recursive: true })
  // The host too: a clone may lie where only its owner can look, and every file is made for others to read.
  copyFileSync(join(import.meta.dirname, 'host.mjs'), join(directory, 'host.mjs'))
  execFileSync('chmod', ['-R', 'a+rX', directory])
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

/** The words in front of a command that run it as a normal user; none when we are one. */
export const asNormalUser: readonly string[] | undefined =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'] : undefined
