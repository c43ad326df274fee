import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../house/run.js'

export type ServerProcess = {
  readonly url: string
  readonly child: ChildProcess
  /** All that it has printed on standard output, line by line. */
  readonly stdout: readonly string[]
  readonly stderr: () => string
  /** Settles with the exit code, or the name of the signal. */
  readonly ended: Promise<number | string>
}

/**
 * `capstan server` as a process of its own, on a free port unless one is given. It has printed its address when this
 * resolves.
 */
export async function spawnServer(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>>; readonly port?: number },
): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    [join(root, 'dist/cli/main.js'), 'server', '--port', String(options.port ?? 0), ...args],
    {
      cwd: options.cwd,
      env: { PATH: process.env['PATH'] ?? '', HOME: options.cwd, CAPSTAN_LOCAL_MODELS: '', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += String(data)
  })
  const stdout: string[] = []
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      stdout.push(line)
      const [found] = /http:\/\/[\w.:[\]]+/.exec(line) ?? []
      if (found !== undefined) resolve(found)
    })
    void ended.then((how) => reject(new Error(`The server ended with ${how}: ${stderr}`)))
  })
  return { url, child, stdout, stderr: () => stderr, ended }
}
