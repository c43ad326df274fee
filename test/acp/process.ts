import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Place } from '../cli/drive.js'
import { root } from '../house/run.js'

export type AcpProcess = {
  readonly child: ChildProcessWithoutNullStreams
  readonly stderr: () => string
  /** Resolves with the exit code, or the name of the signal. */
  readonly ended: Promise<number | string>
}

/** The path of the built command. */
export const builtCommand = join(root, 'dist/cli/main.js')

/** `capstan acp` as a process of its own. */
export function spawnAcp(
  place: Place,
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): AcpProcess {
  const child = spawn(process.execPath, [builtCommand, 'acp', ...flags], {
    cwd: place.root,
    env: { ...place.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += String(data)
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  // A client that has gone: nothing is to be said about it.
  child.stdin.on('error', () => undefined)
  onTestFinished(async () => {
    child.stdin.end()
    await ended
  })
  return { child, stderr: () => stderr, ended }
}
