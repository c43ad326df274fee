import { describe, expect, it } from 'vitest'
import type { VerificationCheck } from '../store/verification.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { readCommands } from './read-commands.js'
import { reportOf } from './report.js'
import { type CheckParts, runChecks } from './run-checks.js'

/** Checks whose calls are answered with these envelopes. */
async function check(
  answers: readonly (Envelope | (() => Envelope))[],
  more: Partial<CheckParts> = {},
  commands: unknown = answers.map((_, at) => ({ id: `c${at}`, command: `run ${at}` })),
): Promise<{ checks: VerificationCheck[]; asked: unknown[] }> {
  const asked: unknown[] = []
  const left = [...answers]
  const checks = await runChecks(readCommands(commands), {
    async bash(args) {
      asked.push(args)
      const answer = left.shift() ?? errorEnvelope('no more')
      return typeof answer === 'function' ? answer() : answer
    },
    keepOutput: async () => '/scratch/whole.txt',
    signal: new AbortController().signal,
    now: () => 0,
    ...more,
  })
  return { checks, asked }
}

const facts = { subject: 's', origin: 'host', at_ms: 0 } as const

describe('a check', () => {
  it('has the status of its exit code, and the next ones run after a failure', async () => {
    const { checks } = await check([
      outputEnvelope('ok', { exit_code: 0 }),
      outputEnvelope('bad', { exit_code: 3 }),
      outputEnvelope('ok', { exit_code: 0 }),
    ])
    expect(checks.map(({ status, outcome, exit_code }) => [status, outcome, exit_code])).toEqual([
      ['passed', 'exited', 0],
      ['failed', 'exited', 3],
      ['passed', 'exited', 0],
    ])
    expect(reportOf(facts, checks).status).toBe('failed')
  })

  it('fails when its time limit is reached', async () => {
    const { checks } = await check([errorEnvelope('Command timed out after 5ms', { timed_out: true })])
    expect(checks[0]).toMatchObject({ status: 'failed', outcome: 'timed_out' })
    expect(checks[0]?.exit_code).toBeUndefined()
    expect(checks[0]?.evidence?.head).toContain('timed out')
  })

  it.each([
    ['was refused', errorEnvelope('Refused: no rule covers it.')],
    ['was answered in place of the command', outputEnvelope('fine', { skipped: true })],
    ['gave a code that is not a number', outputEnvelope('fine', { exit_code: '0' })],
    ['failed although its code is 0', errorEnvelope('odd', { exit_code: 0 })],
  ])('needs attention when it %s', async (_, envelope) => {
    const { checks } = await check([envelope])
    expect(checks[0]).toMatchObject({ status: 'needs_review', outcome: 'not_run' })
    expect(checks[0]?.residual_risk).toMatch(/^It was not run/)
    expect(reportOf(facts, checks).status).toBe('needs_review')
  })

  it('reports that it was cancelled, like those after it', async () => {
    const stop = new AbortController()
    const { checks, asked } = await check(
      [
        outputEnvelope('ok', { exit_code: 0 }),
        () => {
          stop.abort()
          return errorEnvelope('Command stopped', { timed_out: false })
        },
        outputEnvelope('ok', { exit_code: 0 }),
      ],
      { signal: stop.signal },
    )
    expect(asked).toHaveLength(2)
    expect(checks.map(({ status, outcome }) => [status, outcome])).toEqual([
      ['passed', 'exited'],
      ['skipped', 'cancelled'],
      ['skipped', 'cancelled'],
    ])
    expect(reportOf(facts, checks)).toMatchObject({
      status: 'needs_review',
      residual_risks: ['c1: It was cancelled while it ran.', 'c2: It was cancelled before it began.'],
    })
  })

  it('shows the start and the end of a long output, and says where all of it is', async () => {
    const long = `first line\n${'x'.repeat(50_000)}\nlast line`
    const { checks } = await check([
      outputEnvelope(long, { exit_code: 1, output_bytes: 50_021 }),
      outputEnvelope({ head: long, total: 9_000_000 }, { exit_code: 1, output_path: '/scratch/all.txt' }),
      outputEnvelope('short', { exit_code: 1 }),
    ])
    const [kept, spilled, short] = checks
    expect(kept?.evidence).toMatchObject({ bytes: 50_021, output_path: '/scratch/whole.txt' })
    expect(kept?.evidence?.head).toMatch(/^first line/)
    expect(kept?.evidence?.tail).toMatch(/last line$/)
    expect(kept?.evidence_uris).toEqual(['file:///scratch/whole.txt'])
    expect(spilled?.evidence).toMatchObject({ output_path: '/scratch/all.txt' })
    expect(short?.evidence).toEqual({ head: 'short', bytes: 5 })
    expect(short?.evidence_uris).toEqual([])
  })

  it('is reported although its output could not be saved', async () => {
    const { checks } = await check([outputEnvelope('y'.repeat(20_000), { exit_code: 0 })], {
      keepOutput: () => Promise.reject(new Error('disk full')),
    })
    expect(checks[0]).toMatchObject({ status: 'passed' })
    expect(checks[0]?.evidence?.output_path).toBeUndefined()
  })

  it('changes to its directory in the command itself', async () => {
    const { asked } = await check([outputEnvelope('', { exit_code: 0 })], {}, [
      { id: 'a', command: 'npm test', cwd: "packages/it's", timeoutMs: 5 },
      { id: 'b', command: 'npm test', cwd: '-odd' },
    ])
    expect(asked).toEqual([
      { command: `cd 'packages/it'\\''s' || exit 125\nnpm test`, timeout: 5 },
      { command: "cd './-odd' || exit 125\nnpm test" },
    ])
  })

  it('reports processes that it left running', async () => {
    const { checks } = await check([outputEnvelope('', { exit_code: 0, job_id: 'job-1' })])
    expect(checks[0]).toMatchObject({ status: 'passed', residual_risk: expect.stringContaining('job-1') })
  })
})

describe('commands', () => {
  it('have defaults for all but the command', () => {
    expect(readCommands(['npm test', { command: 'make' }])).toEqual([
      { id: 'check-1', kind: 'command', description: 'npm test', command: 'npm test', required: true },
      { id: 'check-2', kind: 'command', description: 'make', command: 'make', required: true },
    ])
  })

  it.each<[string, unknown, RegExp]>([
    ['no list', 'npm test', /must be a list/],
    ['no object', [1], /commands\[0\] must be an object/],
    ['no command', [{ id: 'a' }], /commands\[0\]\.command is missing/],
    ['an empty command', [{ command: ' ' }], /command must be a text/],
    ['a name that is not known', [{ command: 'a', timeoutMS: 5 }], /timeoutMS is not known.*timeoutMs/],
    [
      'one id twice',
      [
        { id: 'a', command: 'a' },
        { id: 'a', command: 'b' },
      ],
      /Two commands have the id 'a'/,
    ],
    ['no time', [{ command: 'a', timeoutMs: 0 }], /timeoutMs/],
    ['a directory above', [{ command: 'a', cwd: 'a/../..' }], /inside the workspace/],
    ['an absolute directory', [{ command: 'a', cwd: '/etc' }], /inside the workspace/],
    ['too many', Array.from({ length: 101 }, () => 'a'), /at most 100/],
    ['required that is not a boolean', [{ command: 'a', required: 'yes' }], /required must be/],
  ])('are rejected with %s', (_, commands, message) => {
    expect(() => readCommands(commands)).toThrow(message)
  })
})
