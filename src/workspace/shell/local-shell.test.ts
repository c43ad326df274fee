import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { waitForProcesses } from '../../../test/security/sandbox/support/processes.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createLocalShell, type LocalShell, type LocalShellOptions } from './local-shell.js'
import { newToken } from './run-marker.js'

let place: string
let root: string
let word: string
let open: LocalShell[]

beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'work')
  mkdirSync(root)
  word = `word-${newToken()}`
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((shell) => shell.close()))
  expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
})

function shellWith(options: Partial<LocalShellOptions> = {}): LocalShell {
  const shell = createLocalShell({
    root,
    ledgerDir: join(place, 'ledger'),
    sandbox: 'off',
    env: { WORD: word },
    graceMs: 200,
    ...options,
  })
  open.push(shell)
  return shell
}

const alive = (wanted: (count: number) => boolean): Promise<string[]> => waitForProcesses(word, wanted)

describe('run', () => {
  it('returns the exit code and both streams in the order in which they were written', async () => {
    const outcome = await shellWith().run('for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7')
    expect(outcome).toMatchObject({
      exitCode: 7,
      output: 'out1\nerr1\nout2\nerr2\nout3\nerr3\n',
      outputBytes: 30,
      truncated: false,
      timedOut: false,
      aborted: false,
      sandbox: 'none',
    })
    expect(outcome.leftover).toBeUndefined()
  })

  it('takes its pipe from the stock of the host, which all shells share', async () => {
    await shellWith().run('true')
    await shellWith().run('true')
    const [directory = ''] = readdirSync(join(place, 'ledger')).filter((name) => name.endsWith('.d'))
    const stock = readdirSync(join(place, 'ledger', directory), { recursive: true }).filter((path) =>
      basename(String(path)).startsWith('out-'),
    )
    expect(stock).toHaveLength(14)
  })

  it('names the signal when one ended it', async () => {
    expect(await shellWith().run('kill -USR1 $$')).toMatchObject({ exitCode: null, signal: 'SIGUSR1' })
  })

  it('has a closed standard input, so that no command waits for input', async () => {
    expect(await shellWith().run('cat; read -r x || echo none')).toMatchObject({
      exitCode: 0,
      output: 'none\n',
    })
  })

  it('can write to /dev/stdout and /dev/stderr by name', async () => {
    const { output } = await shellWith().run(
      'echo a > /dev/stdout; echo b > /dev/stderr; echo c | tee /dev/stderr',
    )
    expect(output).toBe('a\nb\nc\nc\n')
  })

  it('runs in the requested directory, inside the workspace', async () => {
    mkdirSync(join(root, 'sub'))
    const shell = shellWith()
    expect((await shell.run('pwd', { cwd: 'sub' })).output).toBe(`${root}/sub\n`)
    expect((await shell.run('pwd', { cwd: join(root, 'sub') })).output).toBe(`${root}/sub\n`)
  })

  it('reports what to do when a command cannot start', async () => {
    const shell = shellWith()
    await expect(shell.run('echo a\0b')).rejects.toMatchObject({ code: 'shell_start_failed', message: /NUL/ })
    await expect(shell.run(`: ${'x'.repeat(200_000)}`)).rejects.toMatchObject({
      message: /Write it to a file/,
    })
    expect((await shell.run('echo still here')).output).toBe('still here\n')
  })

  it('runs many commands at once', async () => {
    const shell = shellWith()
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => shell.run(`echo ${index}`)))
    expect(outcomes.map(({ output }) => output)).toEqual(
      Array.from({ length: 40 }, (_, index) => `${index}\n`),
    )
  })
})

describe('output', () => {
  it('is streamed without splitting characters, for any pieces', async () => {
    const pieces: string[] = []
    const text = 'aé→😀'.repeat(50)
    writeFileSync(join(root, 'text'), text)
    const outcome = await shellWith().run('while IFS= read -r -N1 -d "" c; do printf %s "$c"; done < text', {
      onOutput: (piece) => pieces.push(piece),
    })
    expect(pieces.join('')).toBe(text)
    expect(outcome.output).toBe(text)
  })

  it('reads output that is written line by line in fewer pieces, and completely', async () => {
    const lines = 20_000
    let pieces = 0
    const { output } = await shellWith().run(`for i in {1..${lines}}; do echo $i; done`, {
      onOutput: () => {
        pieces += 1
      },
    })
    expect(output).toBe(Array.from({ length: lines }, (_, at) => `${at + 1}\n`).join(''))
    expect(pieces).toBeLessThan(lines / 40)
  })

  it('keeps the start and the end when it is long, and saves all bytes in a file', async () => {
    const outcome = await shellWith().run(`printf 'first\\377'; yes middle | head -c 300000; printf 'last'`, {
      maxBytes: 1000,
    })
    expect(outcome).toMatchObject({ truncated: true, outputBytes: 300_010 })
    expect(outcome.output.length).toBeLessThan(1400)
    expect(outcome.output).toMatch(/^first\uFFFDmiddle\n/)
    expect(outcome.output).toMatch(/bytes left out; the whole output is in /)
    expect(outcome.output).toMatch(/last$/)
    const path = outcome.outputPath ?? ''
    const whole = readFileSync(path)
    expect(whole.length).toBe(300_010)
    expect(whole.subarray(0, 6)).toEqual(Buffer.from([...Buffer.from('first'), 0xff]))
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('is saved in the file that the host creates for it', async () => {
    const file = join(place, 'host-file')
    const scratchFile = async (): Promise<string> => {
      writeFileSync(file, '', { flag: 'wx' })
      return file
    }
    const outcome = await shellWith({ scratchFile }).run('seq 1000', { maxBytes: 100 })
    expect(outcome.outputPath).toBe(file)
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(1001)
  })

  it('does not let a listener that throws end the command', async () => {
    const onOutput = (): void => {
      throw new Error('listener')
    }
    expect(await shellWith().run('echo a; echo b', { onOutput })).toMatchObject({
      exitCode: 0,
      output: 'a\nb\n',
    })
  })
})

describe('a command that is finished', () => {
  it.each([
    ['a background child', 'sleep 300 &'],
    ['a child in its own session', 'setsid sleep 300 &'],
    ['a child that ignores hang-up', 'nohup sleep 300 >/dev/null 2>&1 &'],
    ['a silent child that holds nothing of ours', '(setsid sleep 300 >/dev/null 2>&1 < /dev/null &)'],
    ['a child that threw its environment away and holds the pipe', '(env -i setsid sleep 300 &)'],
  ])('returns although it leaves %s, which becomes a named job', async (_name, command) => {
    const shell = shellWith()
    const outcome = await shell.run(`${command}\necho done`)
    expect(outcome).toMatchObject({ exitCode: 0, output: expect.stringContaining('done'), leftover: 'job-1' })
    expect(shell.jobs()).toMatchObject([{ id: 'job-1', running: true }])
    expect(await shell.killJob('job-1')).toMatchObject({ running: false })
    expect(await alive((count) => count === 0)).toEqual([])
  })

  it('returns what the leftover process prints later', async () => {
    const shell = shellWith()
    const { leftover = '' } = await shell.run('(until [ -e go ]; do sleep 0.02; done; echo later) & echo now')
    const first = await shell.readJob(leftover)
    expect(first).toMatchObject({ text: 'now\n', next: 4 })
    writeFileSync(join(root, 'go'), '')
    await expect.poll(async () => (await shell.readJob(leftover, first.next)).text).toBe('later\n')
    await expect.poll(() => shell.jobs()[0]?.running).toBe(false)
  })
})

describe('time-out and abort', () => {
  const stubborn = `trap '' TERM; setsid bash -c "trap '' TERM; sleep 300" & sleep 300 & (setsid nohup sleep 300 >/dev/null 2>&1 &); while :; do sleep 300; done`

  /** Runs a command until its time limit, which is longer the next time if the command was not ready by then. */
  const untilLimit = async (shell: LocalShell, command: string): ReturnType<LocalShell['run']> => {
    for (let timeoutMs = 200; ; timeoutMs *= 2) {
      const outcome = await shell.run(command, { timeoutMs })
      if (outcome.output.startsWith('ready\n')) return outcome
    }
  }

  it('ends everything the command started when its time limit is reached', async () => {
    const outcome = await untilLimit(shellWith(), stubborn.replace(';', '; echo ready;'))
    expect(outcome).toMatchObject({ timedOut: true, aborted: false, exitCode: null, signal: 'SIGKILL' })
    expect(outcome.leftover).toBeUndefined()
    expect(await waitForProcesses(word, () => true, 0)).toEqual([])
  })

  it('lets a command clean up when it is stopped', async () => {
    const outcome = await untilLimit(
      shellWith({ graceMs: 60_000 }),
      `trap 'echo cleaning; exit 3' TERM; echo ready; while :; do sleep 0.01; done`,
    )
    expect(outcome).toMatchObject({
      timedOut: true,
      exitCode: 3,
      output: expect.stringMatching(/^ready\n.*cleaning\n$/s),
    })
  })

  it('ends everything on abort, and keeps the output until then', async () => {
    const controller = new AbortController()
    const outcome = await shellWith().run(`echo before; ${stubborn}`, {
      signal: controller.signal,
      onOutput: () => controller.abort(),
    })
    expect(outcome).toMatchObject({ aborted: true, timedOut: false, output: 'before\n' })
    expect(await waitForProcesses(word, () => true, 0)).toEqual([])
  })

  it('does not start a command that was aborted before', async () => {
    const outcome = await shellWith().run('touch started', { signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ aborted: true, exitCode: null })
    const controller = new AbortController()
    const pending = shellWith().run('touch started', { signal: controller.signal })
    controller.abort()
    expect(await pending).toMatchObject({ aborted: true, exitCode: null })
    expect(existsSync(join(root, 'started'))).toBe(false)
  })

  it('accepts a time limit that is longer than a timer supports', async () => {
    expect(await shellWith().run('echo ok', { timeoutMs: 2 ** 40 })).toMatchObject({
      output: 'ok\n',
      timedOut: false,
    })
  })
})

describe('background jobs', () => {
  it('run until they end, and can be read from any position', async () => {
    const shell = shellWith({ now: () => 1234 })
    const job = await shell.start('echo one; until [ -e go ]; do sleep 0.02; done; printf "zwei é"; exit 4')
    expect(job).toEqual({
      id: 'job-1',
      command: expect.any(String),
      running: true,
      exitCode: null,
      startedAtMs: 1234,
    })
    await expect.poll(async () => (await shell.readJob('job-1')).text).toBe('one\n')
    writeFileSync(join(root, 'go'), '')
    await expect.poll(() => shell.jobs()[0]).toMatchObject({ running: false, exitCode: 4 })
    expect(await shell.readJob('job-1', 4)).toMatchObject({ text: 'zwei é', next: 11 })
    expect(await shell.readJob('job-1', 11)).toMatchObject({ text: '', next: 11 })
  })

  it('can be read in pieces when their output is long', async () => {
    const shell = shellWith()
    await shell.start('seq 200000')
    await expect.poll(() => shell.jobs()[0]?.running).toBe(false)
    let text = ''
    for (let next = 0; ; ) {
      const part = await shell.readJob('job-1', next)
      if (part.next === next) break
      text += part.text
      next = part.next
    }
    expect(text).toBe(`${Array.from({ length: 200_000 }, (_, index) => index + 1).join('\n')}\n`)
  })

  it('are killed with all processes that they started', async () => {
    const shell = shellWith()
    await shell.start(`trap '' TERM; setsid sleep 300 & sleep 300 & while :; do sleep 300; done`)
    expect((await alive((count) => count >= 4)).length).toBeGreaterThanOrEqual(4)
    expect(await shell.killJob('job-1')).toMatchObject({ running: false, exitCode: null })
    expect(await waitForProcesses(word, () => true, 0)).toEqual([])
  })

  it('are listed in the error for an unknown one', async () => {
    const shell = shellWith()
    await expect(shell.readJob('job-9')).rejects.toMatchObject({ code: 'shell_job_unknown' })
    await shell.start('true')
    await expect(shell.killJob('job-9')).rejects.toThrow(/There are: job-1/)
  })
})

describe('close', () => {
  it('ends running commands and jobs, rejects new ones, and leaves no file', async () => {
    const shell = shellWith()
    await shell.start('sleep 300')
    const running = shell.run('sleep 300')
    await alive((count) => count >= 2)
    await shell.close()
    expect(await running).toMatchObject({ aborted: true })
    expect(await waitForProcesses(word, () => true, 0)).toEqual([])
    await expect(shell.run('echo')).rejects.toMatchObject({ code: 'shell_closed' })
    expect(readdirSync(join(place, 'ledger'))).toEqual([])
  })

  it('does nothing when no command was run', async () => {
    const shell = shellWith()
    await shell.close()
    expect(existsSync(join(place, 'ledger'))).toBe(false)
  })
})

describe('the working directory (SEC-137)', () => {
  it.each(['..', '/', '../work-evil', 'link', 'missing', 'file'])(
    'is rejected when it is %s',
    async (cwd) => {
      mkdirSync(join(place, 'work-evil'))
      symlinkSync('/etc', join(root, 'link'))
      writeFileSync(join(root, 'file'), '')
      await expect(shellWith().run('touch here', { cwd })).rejects.toMatchObject({
        code: 'shell_directory_refused',
      })
    },
  )
})
