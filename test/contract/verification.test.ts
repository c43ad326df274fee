import { existsSync } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.js'
import { formatVerificationSummary } from '../../src/index.js'
import { exportSession } from '../../src/store/export-session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { importSession } from '../../src/store/import-session.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createTool } from '../../src/tool/create-tool.js'
import { bash, calls, collect, makeWorkspace, ofType, openSession, until, whenDone } from './open-session.js'

const echo = {
  id: 'echo',
  kind: 'command',
  description: 'echo works',
  command: 'printf verify',
  required: true,
}

describe('verifying commands', () => {
  it('returns a report and keeps it for the session', async () => {
    const { session } = await openSession([])
    expect(session.verificationSummaryText()).toBe('Verification skipped: no reports.')
    const report = await session.verifyCommands('docs api check', [echo])
    expect(report).toMatchObject({
      subject: 'docs api check',
      status: 'passed',
      origin: 'host',
      checks: [{ ...echo, status: 'passed', outcome: 'exited', exit_code: 0, evidence: { head: 'verify' } }],
      residual_risks: [],
    })
    expect(session.verificationReports()).toEqual([report])
    expect(session.verificationSummary()).toEqual({
      status: 'passed',
      report_count: 1,
      required_check_count: 1,
      pending_required_check_count: 0,
      failed_check_count: 0,
      residual_risk_count: 0,
      pending_subjects: [],
      failed_subjects: [],
    })
    expect(session.verificationSummaryText()).toBe('Verification passed: 1 report, 1 required check.')
    expect(formatVerificationSummary(session.verificationSummary())).toBe(session.verificationSummaryText())
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
    await session.close()
    expect(session.verificationReports()).toEqual([report])
  })

  it('runs them in order, in the workspace and in directories of it, with the variables of the session', async () => {
    const { session, root } = await openSession([], { env: { STAGE: 'ci' } }, { 'sub/a.txt': '' })
    const { status, checks } = await session.verifyCommands('order', [
      { id: 'one', command: 'echo 1 >> log; pwd' },
      { id: 'two', command: 'echo 2 >> ../log; pwd; test "$STAGE" = ci', cwd: 'sub' },
      { id: 'three', command: 'cat log' },
      { id: 'nowhere', command: 'echo never >> log', cwd: 'none', required: false },
    ])
    expect(checks.slice(0, 3).map((check) => check.evidence?.head.trim())).toEqual([
      root,
      join(root, 'sub'),
      '1\n2',
    ])
    expect(checks.at(-1)).toMatchObject({ status: 'failed', exit_code: 125 })
    expect(status).toBe('needs_review')
    expect(await readFile(join(root, 'log'), 'utf8')).toBe('1\n2\n')
  })

  it('has failed when a required command fails, and shows its output with all of it in a file', async () => {
    const { session } = await openSession([])
    const command = 'seq 1 20000; echo the end; exit 7'
    const report = await session.verifyCommands('release', [{ id: 'unit', kind: 'test', command }])
    const [check] = report.checks
    expect(check).toMatchObject({ status: 'failed', exit_code: 7, suggested_tools: ['bash'] })
    expect(check?.evidence?.head).toMatch(/^1\n2\n/)
    expect(check?.evidence?.tail).toContain('the end')
    const whole = await session.readFile(check?.evidence?.output_path ?? '')
    expect(whole).toContain('\n10000\n')
    expect(session.verificationSummaryText()).toBe(
      'Verification failed: 1 failed check across subjects: release.',
    )
  })

  it('ends a command at its time limit, with all processes that it started', async () => {
    const { session, root } = await openSession([])
    const { checks } = await session.verifyCommands('slow', [
      { id: 'slow', command: 'sleep 300 & echo $! > pid; wait', timeoutMs: 1_500 },
      { id: 'next', command: 'true' },
    ])
    expect(checks).toMatchObject([
      { status: 'failed', outcome: 'timed_out' },
      { status: 'passed', outcome: 'exited' },
    ])
    const pid = Number(await readFile(join(root, 'pid'), 'utf8'))
    // One that has ended may wait for its new parent to read its status.
    const state = () => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone')
    await expect.poll(state).toMatch(/^gone$|\) Z /)
  })

  it('reports what was cancelled, by a signal and by closing the session', async () => {
    const { session, root } = await openSession([])
    const stop = new AbortController()
    const commands = [
      { id: 'first', command: 'true' },
      { id: 'hangs', command: 'touch started; sleep 300' },
      { id: 'never', command: 'touch never' },
    ]
    const stopped = session.verifyCommands('stopped', commands, { signal: stop.signal })
    await expect.poll(() => existsSync(join(root, 'started'))).toBe(true)
    stop.abort()
    const report = await stopped
    expect(report).toMatchObject({
      status: 'needs_review',
      checks: [{ status: 'passed' }, { outcome: 'cancelled' }, { outcome: 'cancelled' }],
    })
    expect(session.verificationSummary()).toMatchObject({ pending_required_check_count: 2 })
    const closed = session.verifyCommands('closed', [{ id: 'hangs', command: 'touch again; sleep 300' }])
    await expect.poll(() => existsSync(join(root, 'again'))).toBe(true)
    await session.close()
    expect((await closed).checks).toMatchObject([{ outcome: 'cancelled', status: 'skipped' }])
    expect(existsSync(join(root, 'never'))).toBe(false)
    await expect(session.verifyCommands('late', [echo])).rejects.toMatchObject({ code: 'session_closed' })
  })

  it('rejects invalid input, and then runs nothing', async () => {
    const { session, root } = await openSession([])
    const commands = [
      { id: 'a', command: 'touch ran' },
      { id: 'a', command: 'touch ran' },
    ]
    await expect(session.verifyCommands('twice', commands)).rejects.toMatchObject({
      code: 'verification_invalid',
    })
    await expect(session.verifyCommands(' ', [echo])).rejects.toThrow(/subject/)
    expect(existsSync(join(root, 'ran'))).toBe(false)
    expect(session.verificationReports()).toEqual([])
  })

  it('is a call of the host: no rule applies, but hooks and the ceiling do', async () => {
    const denied = await openSession([], { permissionPolicy: { deny: ['bash(*)'] } })
    expect((await denied.session.verifyCommands('a', [echo])).status).toBe('passed')
    denied.session.registerHook('guard', 'pre_tool_use', { tool: 'bash' }, null, () => ({
      action: 'block',
      reason: 'not today',
    }))
    expect((await denied.session.verifyCommands('a', [echo])).checks).toMatchObject([
      { status: 'needs_review', outcome: 'not_run', residual_risk: expect.stringContaining('not today') },
    ])
    const ceiling = { fs: { read: ['{workspace}/**'] } }
    const held = await openSession([], { ceiling })
    expect((await held.session.verifyCommands('a', [echo])).status).toBe('needs_review')
  })

  it('works without a shell for the model, and longer than a model can request', async () => {
    const { session } = await openSession([], { builtinTools: ['read'] })
    expect((await session.verifyCommands('a', [{ ...echo, timeoutMs: 3_600_000 }])).status).toBe('passed')
    expect((await session.tool('bash', { command: 'true' })).exitCode).toBe(1)
    const held = await openSession([], {
      builtinTools: ['read'],
      ceiling: { fs: { read: ['{workspace}/**'] } },
    })
    expect((await held.session.verifyCommands('a', [echo])).status).toBe('needs_review')
  })
})

describe('the verification of a run', () => {
  it('is counted in its result with earlier verifications, as the session counts it', async () => {
    const script = [bash('until [ -e go ]; do sleep 0.05; done'), 'done', 'again']
    const { session } = await openSession(script, { permissionPolicy: { allow: ['bash(*)'] } })
    await session.verifyCommands('before', [{ id: 'no', command: 'false' }])
    const stream = await session.stream('go')
    await until(stream, 'tool_execution_start')
    await session.verifyCommands('meanwhile', [{ id: 'no', command: 'exit 4' }, echo])
    await session.bash('touch go')
    const events = await collect(stream)
    const [end] = ofType(events, 'agent_end')
    expect(end?.result).toMatchObject({
      verificationStatus: 'failed',
      pendingVerificationCount: 0,
      failedVerificationCount: 2,
      verificationReportCount: 2,
      verificationSummaryText: 'Verification failed: 2 failed checks across subjects: before, meanwhile.',
    })
    expect(end?.result.verificationSummary).toEqual(session.verificationSummary())
    expect(JSON.parse(end?.result.verificationSummaryJson ?? '')).toEqual(end?.result.verificationSummary)
    expect(events.filter(({ type }) => type.startsWith('verification'))).toMatchObject([
      { type: 'verification_start', subject: 'meanwhile', checkCount: 2 },
      { type: 'verification_check_start', checkId: 'no', description: 'exit 4' },
      { type: 'verification_check_end', checkId: 'no', status: 'failed', required: true, exitCode: 4 },
      { type: 'verification_check_start', checkId: 'echo' },
      { type: 'verification_check_end', checkId: 'echo', status: 'passed', exitCode: 0 },
      { type: 'verification_end', status: 'failed', failedCheckCount: 1, pendingCheckCount: 0 },
    ])
    expect(session.verificationSummary().failed_subjects).toEqual(['before', 'meanwhile'])
    await session.verifyCommands('before', [echo])
    await session.verifyCommands('meanwhile', [echo])
    for (const prompt of ['more', '/help'])
      expect(await session.send(prompt)).toMatchObject({
        verificationStatus: 'passed',
        pendingVerificationCount: 0,
        failedVerificationCount: 0,
        verificationReportCount: 4,
        verificationSummaryText: session.verificationSummaryText(),
        verificationSummaryJson: JSON.stringify(session.verificationSummary()),
      })
  })

  it('can be recorded by the host, validated and kept', async () => {
    const { session } = await openSession([])
    await session.recordVerificationReports({ subject: 'ci', checks: [{ id: 'build', status: 'passed' }] })
    await session.recordVerificationReports([{ subject: 'review', status: 'needs_review' }])
    expect(session.verificationReports()).toMatchObject([
      { subject: 'ci', status: 'passed', origin: 'host' },
      { subject: 'review', status: 'needs_review', checks: [] },
    ])
    expect(session.verificationSummary()).toMatchObject({
      status: 'needs_review',
      pending_subjects: ['review'],
    })
    const bad = [{ subject: 'good' }, { subject: 'bad', status: 'green' as never }]
    await expect(session.recordVerificationReports(bad)).rejects.toThrow(/reports\[1\]\.status/)
    expect(session.verificationReports()).toHaveLength(2)
  })
})

describe('a tool that verifies', () => {
  const verifier = createTool({
    name: 'check_work',
    description: 'Check.',
    input: z.object({ subject: z.string(), commands: z.array(z.string()) }),
    execute: ({ subject, commands }, { runtime }) => runtime?.session?.verify?.(subject, commands),
  })
  const go = (subject: string, ...commands: string[]) => calls(['check_work', { subject, commands }])

  it('verifies with the permissions of its caller', async () => {
    const { session, root } = await openSession([go('work', 'echo fine', 'touch made'), 'done'], {
      tools: [verifier],
      permissionPolicy: { allow: ['check_work(*)', 'bash(echo *)'] },
    })
    const result = await session.send('check')
    expect(session.verificationReports()).toMatchObject([
      {
        subject: 'work',
        origin: 'model',
        status: 'needs_review',
        run_id: result.runId,
        checks: [
          { command: 'echo fine', status: 'passed' },
          { command: 'touch made', status: 'needs_review', outcome: 'not_run' },
        ],
      },
    ])
    expect(session.verificationReports()[0]?.checks[1]?.residual_risk).toMatch(/no rule covers/)
    expect(existsSync(join(root, 'made'))).toBe(false)
    expect(result).toMatchObject({ verificationStatus: 'needs_review', pendingVerificationCount: 1 })
  })

  it('asks the user for each command', async () => {
    const asked: string[] = []
    const { session, root } = await openSession([go('work', 'touch made', 'touch not-made'), 'done'], {
      tools: [verifier],
      permissionPolicy: { allow: ['check_work(*)'] },
      onAsk: ({ args }) => {
        const { command } = args as { command: string }
        asked.push(command)
        return { decision: command === 'touch made' ? 'once' : 'reject' }
      },
    })
    await session.send('check')
    expect(asked).toEqual(['touch made', 'touch not-made'])
    expect(existsSync(join(root, 'made'))).toBe(true)
    expect(existsSync(join(root, 'not-made'))).toBe(false)
  })

  it('cannot override a report of the host', async () => {
    const { session } = await openSession([go('release', 'true'), 'done'], {
      tools: [verifier],
      permissionPolicy: { allow: ['check_work(*)', 'bash(true)'] },
    })
    await session.verifyCommands('release', [{ id: 'unit', command: 'false' }])
    expect(await session.send('check')).toMatchObject({ verificationStatus: 'failed' })
    expect(session.verificationSummary()).toMatchObject({ status: 'failed', report_count: 2 })
  })
})

describe('reports of a stored session', () => {
  it('are restored when it is resumed, and not from an untrusted log', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const store = () => new FileSessionStore(join(base, 'sessions'))
    const first = await Agent.create({}, { userDir })
    const session = first.session(root, {
      sessionId: 's',
      sessionStore: store(),
      sandbox: 'off',
      model: scriptedModel([{ toolCalls: [{ name: 'todo', args: { todos: [] } }] }, 'done']),
    })
    await session.verifyCommands('before anything was said', [echo])
    await session.send('hello')
    await session.recordVerificationReports({ subject: 'ci', checks: [{ id: 'x', status: 'failed' }] })
    const reports = session.verificationReports()
    await first.close()

    const second = await Agent.create({}, { userDir })
    whenDone(() => second.close())
    const resumed = second.resumeSession('s', { sessionStore: store() })
    expect(resumed.verificationReports()).toEqual(reports)
    expect(resumed.verificationSummary()).toMatchObject({ status: 'failed', report_count: 2 })

    const other = new FileSessionStore(join(base, 'other'))
    const lines = () => exportSession(store(), 's')
    const now = () => 0
    expect((await importSession(other, lines(), { now })).leftOut).toMatchObject({
      'verification reports': 2,
    })
    expect(second.resumeSession('s', { sessionStore: other, workspace: root }).verificationReports()).toEqual(
      [],
    )
    await importSession(other, lines(), { now, id: 't', trusted: true })
    expect(second.resumeSession('t', { sessionStore: other }).verificationReports()).toEqual(reports)
  })
})

describe('the presets of a workspace', () => {
  const manifest = JSON.stringify({ scripts: { test: 'echo ok', lint: 'exit 1' } })

  it('are found at once, and can be run unchanged', async () => {
    const { session } = await openSession([], {}, { 'web/package.json': manifest, 'web/yarn.lock': '' })
    const [preset] = session.verificationPresets()
    expect(preset).toMatchObject({
      id: 'node-default:web',
      cwd: 'web',
      commands: [
        { id: 'node-test:web', kind: 'test', command: 'yarn test', required: true, definition: 'echo ok' },
        { kind: 'lint', command: 'yarn run lint', required: false },
      ],
    })
    const commands = (preset?.commands ?? []).map((one) => ({ ...one, command: 'pwd' }))
    const { checks } = await session.verifyCommands('preset', commands)
    expect(checks[0]?.evidence?.head).toMatch(/web\n$/)
  })

  it('never come from a directory outside', async () => {
    const { session, root } = await openSession([])
    const other = await makeWorkspace({ 'package.json': manifest })
    await symlink(other.root, join(root, 'linked'))
    await symlink(join(other.root, 'package.json'), join(root, 'package.json'))
    expect(session.verificationPresets()).toEqual([])
    await writeFile(join(root, 'go.mod'), 'module x\n')
    expect(session.verificationPresets().map(({ id }) => id)).toEqual(['go-default'])
  })
})
