import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root as packageRoot } from '../house/run.js'
import { commandLines } from '../support/command-lines.js'
import { openPlace, type Place } from './drive.js'

/** The command as it is installed: a process of its own, with pipes. */
const main = join(packageRoot, 'dist/cli/main.js')

describe('the built command', () => {
  it('runs in pipes', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'Reviewed.')
    const child = start(place, ['run', ...flags, 'Review this'])
    child.stdin?.end('a change\n')
    expect(await ended(child)).toEqual({ code: 0, signal: null, stdout: 'Reviewed.\n', stderr: '' })
  })

  it('does not wait for a pipe that no process writes to', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'Done.')
    const outcome = await ended(start(place, ['run', ...flags, 'Go']))
    expect(outcome).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(outcome.stderr).toContain('standard input is open but empty')
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('is cancelled by %s, and leaves no process running', async (name, code) => {
    const place = await openPlace()
    const long = `6${code}.${process.pid}`
    const { server, flags } = await place.model((_, n) =>
      n === 0 ? { toolCalls: [{ name: 'bash', args: { command: `sleep ${long}` } }] } : 'Never.',
    )
    const child = start(place, ['run', ...flags, '--no-stdin', '--json', '--allow', 'bash', 'Wait'])
    await server.request(0)
    await printed(child, '"type":"tool_execution_start"')
    await until(() => isRunning(long))
    child.kill(name)
    const outcome = await ended(child)
    expect(outcome.code).toBe(code)
    expect(JSON.parse(outcome.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'result',
      outcome: 'cancelled',
      exitCode: code,
    })
    await until(() => !isRunning(long))
  })

  it('ends at once at the second signal', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(() => ({ stall: true }))
    const child = start(place, ['run', ...flags, '--no-stdin', 'Wait'])
    await server.request(0)
    child.kill('SIGINT')
    child.kill('SIGINT')
    expect((await ended(child)).code).toBe(130)
  })

  it('ends without an error message when its reader closes the pipe', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => ({ text: 'word '.repeat(8_000), deltas: 20 }))
    const child = start(place, ['run', ...flags, '--no-stdin', '--json', 'Talk'])
    child.stdout?.once('data', () => child.stdout?.destroy())
    const { stderr } = await ended(child)
    expect(stderr).not.toMatch(/EPIPE|at .*\.js/)
  })

  it('prints no error when the reader of a long replay closes the pipe', async () => {
    const place = await openPlace()
    const { flags } = await place.model((_, n) =>
      n < 30
        ? {
            text: 'word '.repeat(2_000),
            deltas: 10_000,
            toolCalls: [{ name: 'glob', args: { pattern: `*.${n}` } }],
          }
        : 'Done.',
    )
    expect((await ended(start(place, ['run', ...flags, '--no-stdin', '-s', 'long', 'Go']))).code).toBe(0)
    const child = start(place, ['sessions', 'replay', 'long'])
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect((await ended(child)).stderr).toBe('')
  })

  it('continues when standard error is closed', async () => {
    const place = await openPlace()
    const { flags } = await place.model((_, n) =>
      n < 3 ? { toolCalls: [{ name: 'ls', args: {} }] } : 'Done.',
    )
    const child = start(place, ['run', ...flags, '--no-stdin', '--verbose', 'Go'])
    child.stderr?.destroy()
    expect(await ended(child)).toMatchObject({ code: 0, stdout: 'Done.\n' })
  })

  it.skipIf(!existsSync('/dev/full'))('reports in one line that its output cannot be written', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'Done.')
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [main, 'run', ...flags, 'Go'], {
      cwd: place.root,
      env: place.env,
      stdio: ['ignore', full, 'pipe'],
    })
    const { code, stderr } = await ended(child)
    closeSync(full)
    expect(stderr).toMatch(/^capstan: Cannot write the output: ENOSPC[^\n]*\n$/)
    expect(code).toBe(1)
  })
})

function start(place: Place, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [main, ...args], { cwd: place.root, env: place.env, stdio: 'pipe' })
}

type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string }

const outputs = new WeakMap<ChildProcess, { stdout: string; stderr: string; listeners: Set<() => void> }>()

function outputOf(child: ChildProcess) {
  const known = outputs.get(child)
  if (known !== undefined) return known
  const made = { stdout: '', stderr: '', listeners: new Set<() => void>() }
  outputs.set(child, made)
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    made.stdout += text
    for (const listener of made.listeners) listener()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    made.stderr += text
  })
  return made
}

function ended(child: ChildProcess): Promise<Ended> {
  const output = outputOf(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({ code, signal, stdout: output.stdout, stderr: output.stderr }),
    )
  })
}

/** Resolves when the process has printed this text. */
function printed(child: ChildProcess, wanted: string): Promise<void> {
  const output = outputOf(child)
  return new Promise((resolve) => {
    const look = (): void => {
      if (!output.stdout.includes(wanted)) return
      output.listeners.delete(look)
      resolve()
    }
    output.listeners.add(look)
    look()
  })
}

/** Whether a process with this argument is running. */
function isRunning(word: string): boolean {
  return commandLines().includes(`sleep ${word}`)
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}
