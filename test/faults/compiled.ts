import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterAll } from 'vitest'

const repository = resolve(import.meta.dirname, '../..')

/** The package as plain JavaScript, for hosts that run as processes of their own. Where its dependencies are found. */
export function compilePackage(): string {
  const cache = join(repository, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'capstan-faults-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  execFileSync(
    process.execPath,
    [
      'node_modules/typescript/bin/tsc',
      ...['--ignoreConfig', '--outDir', directory, '--rootDir', 'src', '--target', 'es2023'],
      // Types are checked elsewhere, and a test run must not depend on what others are writing.
      ...['--lib', 'es2023,dom,dom.iterable', '--types', 'node', '--module', 'nodenext', '--noCheck'],
      ...['src/index.ts', 'src/testing/index.ts'],
    ],
    { cwd: repository, stdio: 'pipe' },
  )
  return directory
}

export type Host = {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** The next line that the host writes, as JSON. */
  next(): Promise<Record<string, unknown>>
  /** How it ended. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/** Starts a host program of this folder on the compiled package. */
export function startHost(
  compiled: string,
  program: string,
  order: object,
  flags: readonly string[] = [],
  /** The command that starts it, with its arguments in front. */
  under: readonly string[] = [],
): Host {
  const [command = process.execPath, ...words] = [
    ...under,
    process.execPath,
    ...flags,
    join(import.meta.dirname, program),
    compiled,
    JSON.stringify(order),
  ]
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async next() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the host has ended')
      return JSON.parse(value) as Record<string, unknown>
    },
    exited: new Promise((settle) => child.once('exit', (code, signal) => settle({ code, signal }))),
  }
}
