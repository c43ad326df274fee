import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns the guard for this processor; undefined if there is none for it. */
export async function guardProgram(arch: string = process.arch): Promise<Uint8Array | undefined> {
  const { binaries } = await import('./binaries.js')
  const binary = Object.entries(binaries).find(([name]) => name === arch)?.[1]
  return binary === undefined ? undefined : Buffer.from(binary.base64, 'base64')
}

/**
 * Writes the guard as a program into a private directory and returns its path. Another process writes it: a file that
 * this process had open for writing could not be executed while a starting child process still has it open (ETXTBSY).
 */
export function placeGuard(guard: Uint8Array, directory: string): Promise<string> {
  const path = join(directory, 'guard')
  return new Promise((resolve, reject) => {
    const script = 'umask 077 && exec cat > "$0"'
    const child = execFile('/bin/sh', ['-c', script, path], { cwd: '/', env: {} }, (error) => {
      if (error === null) chmod(path, 0o500).then(() => resolve(path), reject)
      else reject(error)
    })
    // The process can end without reading; then its exit code shows that.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end(guard)
  })
}

/** What a command can neither create nor write to. Directories are real paths that exist inside the sandbox. */
export type GuardRules = {
  /** Names that are protected in one directory, with everything below them. */
  readonly names: readonly { readonly directory: string; readonly name: string }[]
  /** Directories below which `.git` is protected everywhere. */
  readonly gitRoots: readonly string[]
}

type GuardOptions = {
  readonly program: string
  readonly report?: number | undefined
  readonly maxTasks?: number | undefined
}

/** Returns the arguments that limit a command to a number of processes and threads. */
export function tasksWords(maxTasks: number | undefined): string[] {
  return maxTasks === undefined ? [] : ['--tasks', String(Math.trunc(maxTasks))]
}

/** Returns the command line that starts a program under the guard. */
export function underGuard(
  argv: readonly string[],
  { names, gitRoots }: GuardRules,
  { program, report, maxTasks }: GuardOptions,
): string[] {
  return [
    program,
    ...(report === undefined ? [] : ['--report', String(report)]),
    ...tasksWords(maxTasks),
    ...gitRoots.flatMap((root) => ['--git', root]),
    ...names.flatMap(({ directory, name }) => ['--name', directory, name]),
    '--',
    ...argv,
  ]
}

/** Parses the report of a guard: the paths that it refused. */
export function refusedPaths(report: string): string[] {
  return [...new Set(report.split('\0').slice(0, -1))]
}
