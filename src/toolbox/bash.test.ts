import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeWithBubblewrap } from '../../test/security/sandbox/support/needs-bubblewrap.js'
import {
  type ToolboxWorkspace,
  type ToolboxWorkspaceOptions,
  toolboxWorkspace,
} from '../../test/toolbox/workspace.js'
import type { Envelope } from '../tool/envelope.js'
import { toToolResult } from '../tool/tool-result.js'
import { bashTool } from './bash.js'

const workspace = (options?: ToolboxWorkspaceOptions): Promise<ToolboxWorkspace> =>
  toolboxWorkspace({ 'a.txt': 'alpha\n' }, options)
const textOf = (envelope: Envelope): string => toToolResult('bash', envelope).output

describe('a command', () => {
  it('returns its output, both streams in order, and its exit code', async () => {
    const space = await workspace()
    const done = await space.call(bashTool, { command: 'echo out; echo err >&2; cat a.txt; pwd' })
    expect(done).toMatchObject({ type: 'output', metadata: { exit_code: 0, sandbox: 'none' } })
    expect(textOf(done)).toBe(`out\nerr\nalpha\n${space.root}\n`)
  })

  it('that fails has an output with its exit code', async () => {
    const space = await workspace()
    const failed = await space.call(bashTool, { command: 'echo no; exit 7' })
    expect(failed).toMatchObject({ type: 'output', data: 'no\n\n[Exit code: 7]', metadata: { exit_code: 7 } })
    expect(toToolResult('bash', failed).exitCode).toBe(7)
    expect(textOf(await space.call(bashTool, { command: 'exit 3' }))).toBe('[Exit code: 3]')
  })

  it('that was ended by a signal is not a success', async () => {
    const space = await workspace()
    const killed = await space.call(bashTool, { command: 'kill -KILL $$' })
    expect(killed).toMatchObject({ metadata: { exit_code: 137, signal: 'SIGKILL' } })
    expect(textOf(killed)).toContain('Ended by SIGKILL, exit code: 137')
  })

  it('without output returns an empty output', async () => {
    const space = await workspace()
    expect(await space.call(bashTool, { command: 'true' })).toMatchObject({
      data: '',
      metadata: { exit_code: 0 },
    })
  })

  it('keeps the start and the end of a long output, and saves all of it in a file', async () => {
    const space = await workspace()
    const long = await space.call(bashTool, {
      command: 'echo first; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo last; exit 4',
    })
    const { head, total } = (long as { data: { head: string; total: number } }).data
    expect(total).toBe(1_000_012)
    expect(head.startsWith('first\n')).toBe(true)
    expect(head).toContain('last\n\n[Exit code: 4]')
    expect(Buffer.byteLength(head)).toBeLessThanOrEqual(200 * 1024 + 1024)
    expect(long.metadata).toMatchObject({ truncated: true, exit_code: 4, output_bytes: 1_000_012 })
    expect((await space.runtime.files?.stat(long.metadata.output_path ?? ''))?.size).toBe(1_000_012)
  })

  it('returns up to 204,800 bytes of output in full, and cuts the next byte', async () => {
    const space = await workspace()
    const both = 'head -c 104800 /dev/zero | tr "\\0" x; head -c 100000 /dev/zero | tr "\\0" y >&2; exit 1'
    const whole = await space.call(bashTool, { command: both })
    expect(textOf(whole)).toMatch(/^x{104800}y{100000}\n\n\[Exit code: 1\]$/)
    expect(whole.metadata).not.toHaveProperty('truncated')
    const more = await space.call(bashTool, { command: `printf z; ${both}` })
    expect(more.metadata).toMatchObject({
      truncated: true,
      output_bytes: 204_801,
      output_path: expect.any(String),
    })
  })

  it('keeps its end and its exit code when quoting makes a long output longer than its limit', async () => {
    const space = await workspace()
    const long = await space.call(bashTool, { command: `yes '"' | head -c 300000; echo last; exit 5` })
    expect(Buffer.byteLength(textOf(long))).toBeLessThan(216 * 1024)
    expect(textOf(long)).toContain('last\\n\\n[Exit code: 5]')
    expect(long).toMatchObject({ metadata: { truncated: true, output_path: expect.any(String) } })
  })

  it('is ended when its time limit is reached', async () => {
    const space = await workspace()
    const late = await space.call(bashTool, { command: 'echo begun; sleep 600', timeout: 300 })
    expect(late).toMatchObject({ type: 'error', error_text: 'begun\n\n[Command timed out after 300ms]' })
    expect(toToolResult('bash', late).exitCode).toBe(1)
  })

  it('is ended at a limit, and the result says which and how to raise it', async () => {
    const space = await workspace({ limits: { diskBytes: 1024 * 1024 } })
    const ended = await space.call(bashTool, { command: 'exec head -c 9000000 /dev/zero >large' })
    expect(ended).toMatchObject({
      type: 'error',
      error_text:
        '[Command ended: it reached the limit of new data on the disk (1 MiB). Use less, or let the user raise it: commandLimits.diskBytes of the session, command_limits in the configuration, or --limit disk=SIZE]',
      metadata: { limit: 'disk', limit_max: 1024 * 1024 },
    })
  })

  it('is ended when the run is aborted', async () => {
    const space = await workspace()
    const stop = new AbortController()
    const running = space.call(
      bashTool,
      { command: 'echo begun; sleep 600' },
      { signal: stop.signal, progress: () => stop.abort() },
    )
    const ended = await running
    expect(ended).toMatchObject({ type: 'error' })
    expect(textOf(ended)).toContain('the run was aborted')
  })

  it('SEC-119 is one text for one shell, with nothing kept between calls', async () => {
    const space = await workspace()
    await space.call(bashTool, { command: 'cd /; X=1; export X' })
    expect(textOf(await space.call(bashTool, { command: 'pwd; echo "[$X]"' }))).toBe(`${space.root}\n[]\n`)
  })
})

describe('a command that leaves processes running ends', () => {
  it.each([
    ['sleep 600 &', 'echo done; sleep 600 &'],
    ['setsid', 'echo done; setsid sleep 600 </dev/null >/dev/null 2>&1 &'],
    ['a silent holder of its pipe', 'echo done; (trap "" HUP; exec sleep 600) & disown'],
    ['setsid that holds its pipe', 'echo done; setsid sleep 600 &'],
  ])('%s', async (_, command) => {
    const space = await workspace()
    const done = await space.call(bashTool, { command })
    expect(textOf(done)).toMatch(
      /^done\n\n\[What the command left running continues as background job job-\d+:/,
    )
    const id = done.metadata['job_id']
    expect(await space.call(bashTool, { job_id: id })).toMatchObject({ metadata: { running: true } })
    const killed = await space.call(bashTool, { job_id: id, action: 'kill' })
    expect(killed).toMatchObject({ data: `[${id} has ended]`, metadata: { running: false } })
  })
})

describe('a background job', () => {
  it('is started, read from a position on, and reported as ended', async () => {
    const space = await workspace()
    const command = 'echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 5'
    const started = await space.call(bashTool, { command, background: true })
    expect(started).toMatchObject({ metadata: { job_id: 'job-1', running: true } })
    expect(textOf(started)).toContain('"action": "kill"')
    const first = await until(space, { job_id: 'job-1' }, (text) => text.startsWith('one\n'))
    expect(textOf(first)).toBe('one\n[job-1 is running; continue with from: 4]')
    writeFileSync(join(space.root, 'go'), '')
    const last = await until(space, { job_id: 'job-1', from: 4 }, (text) => text.includes('ended'))
    expect(textOf(last)).toBe('two\n[job-1 has ended with exit code 5; continue with from: 8]')
    expect(last).toMatchObject({ metadata: { running: false, job_exit_code: 5, next: 8 } })
  })

  it('is ended on request', async () => {
    const space = await workspace()
    await space.call(bashTool, { command: 'sleep 600', background: true })
    expect(await space.call(bashTool, { job_id: 'job-1', action: 'kill' })).toMatchObject({
      type: 'output',
      metadata: { running: false },
    })
    expect(textOf(await space.call(bashTool, { job_id: 'job-9' }))).toBe(
      'There is no background job "job-9". There are: job-1.',
    )
  })

  async function until(
    space: ToolboxWorkspace,
    args: Record<string, unknown>,
    holds: (text: string) => boolean,
  ): Promise<Envelope> {
    for (;;) {
      const envelope = await space.call(bashTool, args)
      if (envelope.type === 'error' || holds(textOf(envelope))) return envelope
      await space.runtime.shell?.run('sleep 0.02')
    }
  }
})

describe('arguments', () => {
  it.each([
    [{}, 'command parameter is required'],
    [{ timeout: 5 }, 'command parameter is required'],
    [{ command: 'ls', action: 'kill' }, 'give its job_id'],
    [{ command: 'ls', from: 1 }, 'give its job_id'],
    [{ command: 'ls', job_id: 'job-1' }, 'do not go with it'],
    [{ command: 'ls', background: true, timeout: 5 }, 'does not apply to a background command'],
    [{ job_id: 'job-1', action: 'kill', from: 1 }, 'from is for reading'],
    [{ command: 'ls', timeout: 600_001 }, '600000'],
    [{ command: '' }, 'command'],
  ])('%j: %s', async (args, words) => {
    const space = await workspace()
    const envelope = await space.call(bashTool, args)
    expect(envelope.type).toBe('error')
    expect(textOf(envelope)).toContain(words)
  })

  it('name the command that would run, and nothing for a job', () => {
    expect(bashTool.touches({ command: 'rm x' })).toEqual([{ shell: { text: 'rm x' } }])
    expect(bashTool.touches({ job_id: 'job-1' })).toEqual([])
    expect(bashTool).toMatchObject({
      kind: 'execute',
      idempotent: false,
      requires: { shell: [{ cmd: '*' }] },
      limits: { maxBytes: 200 * 1024 },
    })
  })

  it('cannot be used without a shell', async () => {
    expect(textOf(await bashTool.execute({ command: 'ls' }, {}))).toContain('runtime.shell')
  })
})

describe('the progress of a command', () => {
  it('has its output while it runs, in few pieces', async () => {
    const space = await workspace()
    const pieces: unknown[] = []
    // Not more than one piece holds, should all of it come at once.
    await space.call(
      bashTool,
      {
        command:
          'for i in $(seq 1000); do echo "line $i"; done; until [ -e go ]; do sleep 0.02; done; echo end',
      },
      {
        progress: (piece) => {
          pieces.push(piece)
          // It comes while the command still waits for this.
          writeFileSync(join(space.root, 'go'), '')
        },
      },
    )
    expect(pieces.length).toBeLessThan(200)
    expect(pieces.join('')).toMatch(/^line 1\n/)
    expect(String(pieces.at(-1))).toMatch(/end\n$/)
  })

  it('does not affect the command when its listener fails', async () => {
    const space = await workspace()
    const done = await space.call(
      bashTool,
      { command: 'echo a; sleep 0.2; echo b' },
      {
        progress: () => {
          throw new Error('the watcher is gone')
        },
      },
    )
    expect(done).toMatchObject({ type: 'output', data: 'a\nb\n' })
  })
})

describeWithBubblewrap('a command in the sandbox', () => {
  it('reports that no process continues after it has ended', async () => {
    const space = await workspace({ sandbox: 'required' })
    const note = '[In the sandbox everything that a command starts ends with it.'
    for (const command of ['sleep 600 & echo up', 'setsid sleep 600 >/dev/null 2>&1 < /dev/null &'])
      expect(textOf(await space.call(bashTool, { command }))).toContain(note)
    for (const command of ['true && echo up 2>&1', 'echo up &>/dev/null', 'echo up >&2', 'echo a |& cat'])
      expect(textOf(await space.call(bashTool, { command }))).not.toContain(note)
  })

  it('reports what was denied', async () => {
    const space = await workspace({ sandbox: 'required' })
    const refused = await space.call(bashTool, { command: 'touch /etc/x' })
    expect(refused).toMatchObject({ type: 'output', metadata: { sandbox: 'bubblewrap' } })
    expect(textOf(refused)).toMatch(/\[The sandbox refused: .+\]/)
    expect(existsSync('/etc/x')).toBe(false)
  })

  it.each(['sleep 600 & echo done', 'setsid sleep 600 & echo done', '(exec sleep 600) & disown; echo done'])(
    'returns promptly: %s',
    async (command) => {
      const space = await workspace({ sandbox: 'required' })
      const done = await space.call(bashTool, { command })
      expect(textOf(done)).toContain('done')
    },
  )
})
