import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { pauseAfterSmallReads } from '../read-pause.js'
import { SearchError } from './errors.js'

export type RipgrepOptions = {
  readonly cwd: string
  readonly signal: AbortSignal | undefined
  readonly deadlineMs: number
  readonly maxThreads: number
  /** Receives the output in chunks; returning `false` ends the process. */
  readonly onOutput: (chunk: Buffer) => boolean
  readonly binary?: string | undefined
}

export type RipgrepEnd = {
  /** 0: matches found, 1: none, 2: an error, or something could not be read; null: it was stopped. */
  readonly exitCode: number | null
  readonly errorText: string
  readonly stopped?: 'deadline' | 'aborted' | 'enough' | undefined
}

/** Runs ripgrep without a shell and configuration, in its own process group, and never longer than the deadline. */
export async function runRipgrep(args: readonly string[], options: RipgrepOptions): Promise<RipgrepEnd> {
  if (options.signal?.aborted) return { exitCode: null, errorText: '', stopped: 'aborted' }
  const binary = options.binary ?? (await ripgrepPath())
  const fixed = ['--no-config', '--color=never', '--no-messages', `--threads=${options.maxThreads}`]
  const child = start(binary, [...fixed, ...args], options.cwd)
  return new Promise<RipgrepEnd>((resolve, reject) => {
    let stopped: RipgrepEnd['stopped']
    let errorText = ''
    let failure: { readonly thrown: unknown } | undefined
    const stop = (why: NonNullable<RipgrepEnd['stopped']>) => {
      stopped ??= why
      killGroup(child)
    }
    const onAbort = () => stop('aborted')
    const timer = setTimeout(() => stop('deadline'), options.deadlineMs)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    if (options.signal?.aborted) onAbort()
    const pause = pauseAfterSmallReads(child.stdout)
    child.stdout.on('data', (chunk: Buffer) => {
      if (stopped !== undefined) return
      pause(chunk)
      try {
        if (!options.onOutput(chunk)) stop('enough')
      } catch (thrown) {
        // An error of the permit must not be thrown inside a stream's event, where it would end the host.
        failure = { thrown }
        stop('enough')
      }
    })
    child.stderr.on('data', (chunk: Buffer) => {
      if (errorText.length < 4_000) errorText += chunk.toString()
    })
    const release = () => {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
    }
    child.once('error', (cause) => {
      release()
      reject(unavailable(cause))
    })
    child.once('close', (exitCode) => {
      release()
      if (failure !== undefined) reject(failure.thrown)
      else resolve({ exitCode, errorText, ...(stopped === undefined ? {} : { stopped }) })
    })
  })
}

/** Returns the path of the binary in the package for this platform. */
export async function ripgrepPath(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath
  } catch (cause) {
    throw unavailable(cause)
  }
}

function start(binary: string, args: string[], cwd: string): ChildProcessByStdio<null, Readable, Readable> {
  try {
    return spawn(binary, args, {
      cwd,
      // Nothing from the host's environment: RIPGREP_CONFIG_PATH and HOME could change what is searched.
      env: process.platform === 'win32' ? { SystemRoot: process.env['SystemRoot'] } : {},
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
  } catch (cause) {
    throw unavailable(cause)
  }
}

function killGroup(child: ChildProcessByStdio<null, Readable, Readable>): void {
  child.stdout.destroy()
  if (child.pid === undefined || child.exitCode !== null) return
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
  } catch {
    // The process ended between the check and the signal.
    child.kill('SIGKILL')
  }
}

function unavailable(cause: unknown): SearchError {
  return new SearchError('search_unavailable', 'ripgrep cannot be started on this machine.', { cause })
}
