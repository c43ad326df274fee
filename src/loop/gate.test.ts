import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { compilePolicy, type PermissionPolicy } from '../authority/policy.js'
import type { Rule } from '../authority/rule.js'
import type { WatchdogCall } from '../authority/watchdog.js'
import { ToolApprovalRequiredError } from '../tool/approval.js'
import type { AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createTool } from '../tool/create-tool.js'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { ToolSet } from '../tool/tool-set.js'
import { openWorkspace, type Workspace } from '../workspace/open-workspace.js'
import type { AskRequest } from './ask.js'
import { CallOrder } from './call-order.js'
import { permitFor } from './call-permit.js'
import { createGate, type Gate } from './gate.js'
import type {
  CallOrigin,
  CallRecord,
  GateOutcome,
  GateParts,
  HookCall,
  RuntimeRequest,
} from './gate-parts.js'
import {
  createSessionAuthority,
  type SessionAuthority,
  type SessionAuthorityOptions,
} from './session-authority.js'
import { WriteOrder } from './write-order.js'

const read = createJsonTool<{ path: string }>({
  name: 'read',
  description: 'Read a file.',
  kind: 'read',
  requires: { fs: { read: ['{workspace}/**', '{scratch}/**'] } },
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  touches: ({ path }) => [{ fs: 'read', path }],
  execute: async ({ path }, { runtime }) => (await runtime?.files?.readText(path)) ?? '',
})
const write = createJsonTool<{ path: string; text: string }>({
  name: 'write',
  description: 'Write a file.',
  kind: 'edit',
  requires: { fs: { write: ['{workspace}/**'] } },
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path', 'text'],
  },
  touches: ({ path }) => [{ fs: 'write', path }],
  execute: async ({ path, text }, { runtime }) => (await runtime?.files?.write(path, text))?.bytes,
})
const bash = createJsonTool<{ command: string }>({
  name: 'bash',
  description: 'Run a command.',
  kind: 'execute',
  requires: {
    shell: [{ cmd: 'echo' }, { cmd: 'rm' }, { cmd: 'ls' }, { cmd: 'sleep' }, { cmd: 'yes' }, { cmd: 'head' }],
  },
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  touches: ({ command }) => [{ shell: { text: command } }],
  execute: async ({ command }, { runtime }) => {
    const outcome = await runtime?.shell?.run(command)
    return outputEnvelope(outcome?.output ?? '', { exit_code: outcome?.exitCode ?? null })
  },
})
const think = createJsonTool<{ n?: number }>({
  name: 'think',
  description: 'Think.',
  parameters: { type: 'object', properties: { n: { type: 'number' } } },
  execute: ({ n }) => `thought ${n ?? 0}`,
})

let workspace: Workspace
let root: string
let base: string
beforeEach(async () => {
  base = temporaryDirectory()
  root = join(base, 'work')
  await rm(root, { recursive: true, force: true })
  await import('node:fs/promises').then(({ mkdir }) => mkdir(join(root, 'src'), { recursive: true }))
  await writeFile(join(root, 'src/a.txt'), 'alpha')
  await writeFile(join(root, '.env'), 'SECRET=1')
  await writeFile(join(base, 'outside.txt'), 'outside')
  workspace = openWorkspace({ root, sandbox: 'off', scratchDir: base, ledgerDir: join(base, 'ledger') })
})
afterEach(async () => {
  await workspace.close()
})

type Setup = Partial<GateParts> & {
  policy?: PermissionPolicy
  authority?: Partial<SessionAuthorityOptions>
  extra?: readonly AnyTool[]
}

function setUp({ policy, authority: more, extra = [], ...parts }: Setup = {}): {
  gate: Gate
  authority: SessionAuthority
  records: CallRecord[]
  call(name: string, args: unknown, origin?: CallOrigin): Promise<GateOutcome>
  text(name: string, args: unknown, origin?: CallOrigin): Promise<string>
} {
  const tools = ToolSet.fromTools([read, write, bash, think, ...extra])
  const records: CallRecord[] = []
  let ids = 0
  const authority = createSessionAuthority({
    scope: () => workspace.scope,
    tools: () => tools.values(),
    ...(policy && { policy }),
    ...more,
  })
  const gate = createGate({
    tools: { get: (name) => tools.get(name), names: () => tools.values().map(({ name }) => name) },
    authorityFor: (tool) => authority.for(tool),
    keepRule: (rule) => authority.addRule(rule),
    runtimeFor: ({ call, authority: own, signal, origin }) =>
      workspace.runtimeFor(permitFor(call, own, origin === 'host'), signal),
    realPath: (path) => workspace.realPath(path),
    spill: (label, data) => workspace.scratch.write(label, data),
    record: (record) => {
      records.push(record)
    },
    now: () => performance.now(),
    newId: () => `call-${++ids}`,
    stopGraceMs: 50,
    ...parts,
  })
  const call = (name: string, args: unknown, origin: CallOrigin = 'model'): Promise<GateOutcome> =>
    gate.call({ name, origin, input: typeof args === 'string' ? { text: args } : { value: args } })
  const text = async (name: string, args: unknown, origin?: CallOrigin): Promise<string> => {
    const { envelope } = await call(name, args, origin)
    return envelope.type === 'error' ? envelope.error_text : JSON.stringify(envelope.data)
  }
  return { gate, authority, records, call, text }
}

const allowAll: PermissionPolicy = { allow: ['read(*)', 'write(*)', 'bash'] }

describe('the gate', () => {
  it('allows what the built-in manifest allows, and records it', async () => {
    const { call, records } = setUp()
    expect((await call('read', '{"path":"src/a.txt"}')).envelope).toMatchObject({
      type: 'output',
      data: 'alpha',
    })
    expect(records).toMatchObject([
      {
        callId: 'call-1',
        toolName: 'read',
        origin: 'model',
        args: '{"path":"src/a.txt"}',
        endedAt: 'done',
        verdict: { action: 'allow' },
      },
    ])
  })

  it('suggests the nearest tools, and runs only tools that are offered', async () => {
    expect(await setUp().text('raed', {})).toBe('Unknown tool "raed". Did you mean "read"?')
  })

  it('answers malformed and invalid arguments with a message, before any rule is checked', async () => {
    const { text, records } = setUp()
    expect(await text('read', '{"path":')).toContain('are not JSON. Invalid JSON at line 1, column 9')
    expect(await text('read', '')).toContain('- path: required field is missing')
    expect(records.map(({ endedAt }) => endedAt)).toEqual(['parse', 'validate'])
    expect(records.every(({ verdict }) => verdict === undefined)).toBe(true)
  })

  it('refuses what is outside the grant before a user is asked', async () => {
    const onAsk = vi.fn()
    const { text } = setUp({ onAsk, policy: allowAll })
    for (const path of ['../outside.txt', join(base, 'outside.txt'), '/etc/passwd'])
      expect(await text('read', { path })).toMatch(/grant|declare|requires/i)
    expect(onAsk).not.toHaveBeenCalled()
  })

  it('gives each tool its own permissions: one tool’s network is not another’s', async () => {
    const fetcher = createJsonTool<{ url: string }>({
      name: 'fetcher',
      description: 'd',
      requires: { net: { hosts: ['example.com'] } },
      parameters: {},
      touches: ({ url }) => [{ net: new URL(url).host }],
      execute: () => 'fetched',
    })
    const leaky = createJsonTool<{ url: string }>({
      name: 'leaky',
      description: 'd',
      parameters: {},
      touches: ({ url }) => [{ net: new URL(url).host }],
      execute: () => 'leaked',
    })
    const { text } = setUp({ extra: [fetcher, leaky], policy: { allow: ['fetcher', 'leaky'] } })
    expect(await text('fetcher', { url: 'https://example.com/' })).toBe('"fetched"')
    expect(await text('leaky', { url: 'https://example.com/' })).not.toContain('leaked')
  })

  it('applies the ceiling to everything', async () => {
    const { text } = setUp({
      policy: allowAll,
      authority: { ceiling: { fs: { read: ['{workspace}/docs/**'] } } },
    })
    expect(await text('read', { path: 'src/a.txt' })).toContain('ceiling')
  })

  it('refuses by rule and names the rule', async () => {
    const { text } = setUp({ policy: { ...allowAll, deny: ['write(**/.env*)', 'bash(rm -rf*)'] } })
    expect(await text('write', { path: '.env', text: 'x' })).toContain('write(**/.env*)')
    expect(await text('bash', { command: 'echo hi; rm -fr x' })).toContain('bash(rm -rf*)')
    expect(await readFile(join(root, '.env'), 'utf8')).toBe('SECRET=1')
  })

  it('applies a deny to the real target of a link', async () => {
    await symlink('.env', join(root, 'harmless.txt'))
    const { text } = setUp({ policy: { ...allowAll, deny: ['read(**/.env*)'] } })
    expect(await text('read', { path: 'harmless.txt' })).not.toContain('SECRET')
    expect(await text('read', { path: '.env' })).not.toContain('SECRET')
  })

  it('never follows a link out of the workspace', async () => {
    await symlink('../outside.txt', join(root, 'link.txt'))
    expect(await setUp({ policy: allowAll }).text('read', { path: 'link.txt' })).not.toContain('outside"')
  })
})

describe('asking for approval', () => {
  it('refuses without a user, names the rules that would allow the call, and records the refusal', async () => {
    const { text, gate } = setUp()
    expect(await text('write', { path: 'b.txt', text: 'x' })).toMatch(
      /No user can be asked\. To allow it, add "write\(.*b\.txt\)" to the allow list of the policy/,
    )
    expect(gate.takeRefusedAsks()).toMatchObject([{ toolName: 'write', args: { path: 'b.txt', text: 'x' } }])
  })

  it('shows the user all arguments, and runs exactly these after approval', async () => {
    const onAsk = vi.fn(() => ({ decision: 'once' as const }))
    const { call, records } = setUp({ onAsk, diffFor: async () => '+x' })
    expect((await call('write', { path: 'b.txt', text: 'x' })).envelope.type).toBe('output')
    expect(onAsk).toHaveBeenCalledWith(
      expect.objectContaining({
        id: 'call-1',
        toolName: 'write',
        args: { path: 'b.txt', text: 'x' },
        subjects: [{ fs: 'write', path: 'b.txt' }],
        diff: '+x',
      }),
    )
    expect(records[0]).toMatchObject({ approval: 'once' })
    await call('write', { path: 'b.txt', text: 'x' })
    expect(onAsk).toHaveBeenCalledTimes(2)
  })

  it('does not ask again for what was approved for the session, and still asks for anything else', async () => {
    const onAsk = vi.fn(() => ({ decision: 'session' as const }))
    const { text } = setUp({ onAsk })
    await text('write', { path: 'b.txt', text: 'x' })
    await text('write', { path: 'b.txt', text: 'y' })
    expect(onAsk).toHaveBeenCalledTimes(1)
    await text('write', { path: 'c.txt', text: 'z' })
    expect(onAsk).toHaveBeenCalledTimes(2)
  })

  it.each([{ decision: 'reject', message: 'not now' }, undefined, {}, true, { decision: 'yes' }])(
    'treats the answer %j as a rejection',
    async (answer) => {
      const { text } = setUp({ onAsk: () => answer as never })
      expect(await text('write', { path: 'b.txt', text: 'x' })).toMatch(
        /^The user rejected this call(: not now|\.)$/,
      )
      await expect(readFile(join(root, 'b.txt'))).rejects.toThrow()
    },
  )

  it('refuses when the arguments change during the approval', async () => {
    const onAsk = (request: { args: unknown }): { decision: 'once' } => {
      ;(request.args as { path: string }).path = '.env'
      return { decision: 'once' }
    }
    const { text } = setUp({ onAsk })
    expect(await text('write', { path: 'b.txt', text: 'x' })).toContain('the arguments changed')
    expect(await readFile(join(root, '.env'), 'utf8')).toBe('SECRET=1')
  })

  it('refuses when the handler fails, and ends the run', async () => {
    const { call } = setUp({
      onAsk: () => {
        throw new Error('terminal gone')
      },
    })
    expect(await call('write', { path: 'b.txt', text: 'x' })).toMatchObject({
      envelope: { error_text: expect.stringContaining('terminal gone') },
      fatal: { error: expect.any(Error) },
    })
  })

  it('stops waiting for an answer when the run is aborted', async () => {
    const controller = new AbortController()
    const { gate } = setUp({ onAsk: () => new Promise(() => undefined) })
    const pending = gate.call({
      name: 'write',
      origin: 'model',
      input: { value: { path: 'b.txt', text: 'x' } },
      signal: controller.signal,
    })
    controller.abort()
    expect((await pending).envelope).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('aborted'),
    })
  })

  const guarded = createJsonTool<{ cents: number }>({
    name: 'refund',
    description: 'd',
    parameters: { type: 'object', properties: { cents: { type: 'number' } } },
    approval: { when: ({ args }) => args.cents > 100, reason: 'large', rejectMessage: 'too much' },
    execute: () => 'refunded',
  })
  const refunds: Setup = { extra: [guarded], policy: { allow: ['refund'] } }

  it('calls the approval handler for the policy of a tool', async () => {
    const handler = vi.fn(() => false)
    const { text } = setUp({ ...refunds, approvals: { handler } })
    expect(await text('refund', { cents: 50 })).toBe('"refunded"')
    expect(await text('refund', { cents: 500 })).toBe('too much')
    expect(handler).toHaveBeenCalledOnce()
  })

  it('asks the user when there is no approval handler, and ends the run when there is no user either', async () => {
    expect(
      await setUp({ ...refunds, onAsk: () => ({ decision: 'once' }) }).text('refund', { cents: 500 }),
    ).toBe('"refunded"')
    const { fatal } = await setUp(refunds).call('refund', { cents: 500 })
    expect(fatal?.error).toBeInstanceOf(ToolApprovalRequiredError)
  })
})

describe('the watchdog', () => {
  it('can only narrow: its denial counts, its permission does not', async () => {
    const watchdog = vi.fn(() => ({ action: 'allow' as const }))
    const { text } = setUp({ policy: { deny: ['bash'] }, watchdog })
    expect(await text('bash', { command: 'echo hi' })).toContain('Refused')
    const refusing = setUp({ policy: allowAll, watchdog: () => ({ action: 'deny', reason: 'it smells' }) })
    expect(await refusing.text('read', { path: 'src/a.txt' })).toBe('Refused by the watchdog: it smells.')
  })

  it('can require that a user is asked, and the call is refused otherwise', async () => {
    const { text } = setUp({ policy: allowAll, watchdog: () => ({ action: 'ask', reason: 'look twice' }) })
    expect(await text('read', { path: 'src/a.txt' })).toContain('look twice')
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['never answers', () => new Promise<never>(() => undefined)],
    ['answers nonsense', () => 'sure' as never],
  ])('refuses when it %s', async (_, watchdog) => {
    const { text } = setUp({ policy: allowAll, watchdog, watchdogTimeoutMs: 20 })
    expect(await text('read', { path: 'src/a.txt' })).toMatch(/^Refused by the watchdog: /)
  })
})

describe('hooks, middleware and budget', () => {
  it('are waited for when they return a promise of another realm', async () => {
    const foreign = <Value>(value: Value): Promise<Value> =>
      runInNewContext('Promise').resolve(value) as Promise<Value>
    expect(foreign(1)).not.toBeInstanceOf(Promise)
    const blocking = setUp({ before: () => foreign({ action: 'block', reason: 'office hours' }) })
    expect(await blocking.text('think', {})).toBe('Blocked by a hook: office hours')
    const spent = setUp({ budget: () => foreign('spent') })
    expect(await spent.text('think', {})).toBe('Refused by the budget: spent')
    const failing = setUp({ record: () => foreign(0).then(() => Promise.reject(new Error('full'))) })
    expect((await failing.call('think', {})).fatal).toMatchObject({ error: { message: 'full' } })
  })

  it('are waited for when they return a function with a method then, as await does', async () => {
    const then = (_: unknown, reject: (error: Error) => void): void => reject(new Error('full'))
    const failing = (): Promise<never> =>
      Object.defineProperty(() => undefined, 'then', { value: then }) as never
    const starting = setUp({ starting: failing })
    expect(await starting.text('think', {})).toContain('the step "execute" failed: full')
    const recording = setUp({ record: failing })
    expect((await recording.call('think', {})).fatal).toMatchObject({ error: { message: 'full' } })
  })

  it('run no call before its turn, whatever kind of promise the order returns', async () => {
    const ended: PromiseLike<boolean> = runInNewContext('Promise').resolve(false)
    const slot = { ...new CallOrder(1).add(), turn: () => ended as Promise<boolean> }
    const { gate } = setUp()
    const { envelope } = await gate.call({ name: 'think', input: { value: {} }, origin: 'host', slot })
    expect(envelope).toMatchObject({ error_text: expect.stringContaining('ended by another call') })
  })

  it('block, skip, or change a call; what is changed is judged again', async () => {
    expect(
      await setUp({ before: () => ({ action: 'block', reason: 'office hours' }) }).text('think', {}),
    ).toBe('Blocked by a hook: office hours')
    expect(await setUp({ before: () => ({ action: 'skip', output: 'cached' }) }).text('think', {})).toBe(
      '"cached"',
    )
    expect(await setUp({ before: () => ({ action: 'change', args: { n: 7 } }) }).text('think', {})).toBe(
      '"thought 7"',
    )
    expect(
      await setUp({ before: () => ({ action: 'change', args: { n: 'x' } }) }).text('think', {}),
    ).toContain('expected number')
    const escaping = setUp({
      policy: allowAll,
      before: () => ({ action: 'change', args: { path: '../outside.txt' } }),
    })
    expect(await escaping.text('read', { path: 'src/a.txt' })).not.toContain('outside"')
  })

  it('fail closed when they throw', async () => {
    const { call } = setUp({
      before: () => {
        throw new Error('hook broke')
      },
    })
    expect(await call('think', {})).toMatchObject({
      envelope: { error_text: expect.stringContaining('hook broke') },
      fatal: { error: expect.any(Error) },
    })
  })

  it('replace arguments before they are checked and judged, and results before the model sees them', async () => {
    const { text } = setUp({
      policy: { deny: ['read(**/.env*)'] },
      middleware: [
        {
          onToolInput: () => ({ args: { path: '.env' } }),
          onToolOutput: ({ result }) => result.toUpperCase(),
        },
      ],
    })
    expect(await text('read', { path: 'src/a.txt' })).not.toMatch(/secret/i)
    const shout = setUp({ middleware: [{ onToolOutput: ({ result }) => result.toUpperCase() }] })
    expect(await shout.text('read', { path: 'src/a.txt' })).toBe('"ALPHA"')
  })

  it('refuse by budget', async () => {
    expect(await setUp({ budget: () => 'spent' }).text('think', {})).toBe('Refused by the budget: spent')
  })

  it('receive the result', async () => {
    const after = vi.fn()
    await setUp({ after }).call('think', { n: 2 })
    expect(after).toHaveBeenCalledWith(
      expect.objectContaining({
        toolName: 'think',
        args: { n: 2 },
        envelope: expect.objectContaining({ data: 'thought 2' }),
      }),
    )
  })

  it('queue a call in a lane', async () => {
    const lane = vi.fn((_: unknown, run: () => Promise<never>) => run())
    await setUp({ lane: lane as never }).call('think', {})
    expect(lane).toHaveBeenCalledWith(
      expect.objectContaining({
        tool: expect.objectContaining({ name: 'think' }),
        args: '{}',
        origin: 'model',
      }),
      expect.any(Function),
    )
  })
})

describe('calls by every caller', () => {
  it('rules and approval do not apply to the host, and everything else does', async () => {
    const { text } = setUp({ policy: { deny: ['write(**)'] } })
    expect(await text('write', { path: 'b.txt', text: 'xy' }, 'host')).toBe('2')
    expect(await text('read', { path: '../outside.txt' }, 'host')).toMatch(/grant|declare|requires/i)
    expect(await text('read', { path: 3 }, 'host')).toContain('expected string')
    const watched = setUp({ watchdog: () => ({ action: 'deny', reason: 'no' }) })
    expect(await watched.text('read', { path: 'src/a.txt' }, 'host')).toContain('watchdog')
  })

  it.each(['program', 'child'] as const)('rules apply to a %s as to the model', async (origin) => {
    expect(await setUp().text('write', { path: 'b.txt', text: 'x' }, origin)).toContain(
      'No user can be asked',
    )
  })

  it('a child is denied what its parent is denied', async () => {
    const parent = createSessionAuthority({
      scope: () => workspace.scope,
      tools: () => [read, write],
      policy: { deny: ['read(**/.env*)'] },
    })
    const { text } = setUp({ policy: { allow: ['read(**)'] }, authority: { parent: () => parent.agent() } })
    expect(await text('read', { path: '.env' }, 'child')).not.toContain('SECRET')
    expect(await text('read', { path: 'src/a.txt' }, 'child')).toBe('"alpha"')
  })
})

describe('modes', () => {
  it('are permissions, not prompts: a mode denies what it does not include, whatever the rules say', async () => {
    const { text } = setUp({ policy: allowAll, authority: { mode: 'plan' } })
    expect(await text('read', { path: 'src/a.txt' })).toBe('"alpha"')
    expect(await text('write', { path: 'b.txt', text: 'x' })).toContain('plan')
    expect(await text('bash', { command: 'echo hi > b.txt' })).toContain('plan')
  })

  it('accept-edits writes without asking, and allows nothing more', async () => {
    const { text } = setUp({ authority: { mode: 'accept-edits' } })
    expect(await text('write', { path: 'b.txt', text: 'x' })).toBe('1')
    expect(await text('bash', { command: 'rm b.txt' })).toContain('No user can be asked')
  })
})

describe('running', () => {
  it('writes output above the limit to a file that the read tool can read', async () => {
    const { call, text } = setUp({ policy: allowAll })
    const { envelope } = await call('bash', { command: 'yes capstan | head -n 60000' })
    expect(envelope.metadata.truncated).toBe(true)
    const path = envelope.metadata.output_path ?? ''
    expect(path).not.toBe('')
    expect((await text('read', { path })).length).toBeGreaterThan(200_000)
  })

  it('ends the call of a tool that ignores its deadline, and kills its command', async () => {
    const { gate } = setUp({ policy: allowAll })
    await gate.call({
      name: 'bash',
      origin: 'model',
      input: { value: { command: 'sleep 300' } },
      timeoutMs: 200,
    })
    expect(workspace.shell.jobs().filter(({ running }) => running)).toEqual([])
  })

  it('abandons a tool that never settles, with an error that says so', async () => {
    const stuck = createJsonTool({
      name: 'stuck',
      description: 'd',
      parameters: {},
      execute: () => new Promise(() => undefined),
    })
    const { gate } = setUp({ extra: [stuck], policy: { allow: ['stuck'] } })
    const { envelope } = await gate.call({
      name: 'stuck',
      origin: 'model',
      input: { value: {} },
      timeoutMs: 20,
    })
    expect(envelope).toMatchObject({
      type: 'error',
      error_text: 'Tool "stuck" did not finish within 20 ms; what it had already done may remain.',
    })
  })

  it('does not start after the run was aborted', async () => {
    const { gate } = setUp()
    const { envelope } = await gate.call({
      name: 'think',
      origin: 'model',
      input: { value: {} },
      signal: AbortSignal.abort(),
    })
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('aborted') })
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('x')
      },
    ],
    ['rejects with nothing', () => Promise.reject()],
    [
      'returns something circular',
      () => {
        const a: Record<string, unknown> = {}
        a['a'] = a
        return a
      },
    ],
    ['returns a bigint', () => 10n],
    ['returns nothing', () => undefined],
    ['returns an error envelope', () => errorEnvelope('no')],
  ])('always returns a valid envelope: a tool that %s', async (_, execute) => {
    const odd = createJsonTool({ name: 'odd', description: 'd', parameters: {}, execute })
    const { envelope } = await setUp({ extra: [odd], policy: { allow: ['odd'] } }).call('odd', {})
    expect(() => JSON.parse(JSON.stringify(envelope))).not.toThrow()
    expect(JSON.parse(JSON.stringify(envelope))).toEqual(envelope)
  })

  it('keeps the start of the output when the rest cannot be written', async () => {
    const { call } = setUp({ spill: () => Promise.reject(new Error('disk full')), policy: allowAll })
    const { envelope } = await call('bash', { command: 'yes capstan | head -n 60000' })
    expect(envelope).toMatchObject({ type: 'output', metadata: { truncated: true } })
  })

  it('ends the run when a call cannot be recorded, and keeps its envelope', async () => {
    const { call } = setUp({ record: () => Promise.reject(new Error('log gone')) })
    expect(await call('think', {})).toMatchObject({
      envelope: { type: 'output' },
      fatal: { error: expect.any(Error) },
    })
  })

  it('records that the host gave no id', async () => {
    const { call, records } = setUp({
      newId: () => {
        throw new Error('no ids left')
      },
    })
    expect((await call('think', {})).envelope.type).toBe('output')
    expect(records[0]?.notices).toEqual(['the host gave no id or time: no ids left'])
  })

  it('never rejects, not even when the clock fails', async () => {
    const { call, records } = setUp({
      now: () => {
        throw new Error('no time')
      },
    })
    expect((await call('think', {})).envelope).toMatchObject({ type: 'error', error_text: 'no time' })
    expect(records[0]?.notices).toEqual(['the host gave no id or time: no time'])
  })

  it('reports the failure of an observing hook as a notice', async () => {
    const { call, records } = setUp({ after: () => Promise.reject(new Error('watcher broke')) })
    expect((await call('think', {})).envelope.type).toBe('output')
    expect(records[0]?.notices).toEqual(['a hook after the call failed: watcher broke'])
  })

  it('gives an abandoned tool no more access', async () => {
    const done: string[] = []
    let late: Promise<unknown> = Promise.resolve()
    const stubborn = createJsonTool({
      name: 'stubborn',
      description: 'd',
      requires: {
        fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] },
        shell: [{ cmd: '*' }],
        net: { hosts: ['*'] },
      },
      parameters: {},
      execute: (_, { runtime }) => {
        late = new Promise((resolve) => setTimeout(resolve, 150)).then(() =>
          Promise.allSettled([
            runtime?.files?.write('late.txt', 'x').then(() => done.push('write')),
            runtime?.files?.readText('src/a.txt').then(() => done.push('read')),
            runtime?.search?.grep({ pattern: 'alpha', limit: 5 }).then(() => done.push('grep')),
            runtime?.shell?.run('echo hi').then(() => done.push('run')),
            runtime?.shell?.start('sleep 1').then(() => done.push('start')),
            runtime?.net?.fetch('http://127.0.0.1:9/').then(() => done.push('fetch')),
            runtime?.scratch?.write('late', 'x').then(() => done.push('scratch')),
          ]),
        )
        return new Promise(() => undefined)
      },
    })
    const { gate } = setUp({ extra: [stubborn], policy: { allow: ['stubborn', 'write(*)', 'bash'] } })
    await gate.call({ name: 'stubborn', origin: 'model', input: { value: {} }, timeoutMs: 20 })
    await late
    expect(done).toEqual([])
  })

  it('gives a runtime that is created after the call a signal that is already aborted', async () => {
    let saved: RuntimeRequest | undefined
    const { call } = setUp({
      runtimeFor: (request) => {
        saved = request
        return {}
      },
    })
    expect((await call('think', {})).envelope.type).toBe('output')
    expect(saved?.signal.aborted).toBe(true)
    expect(saved?.signal).toBe(saved?.signal)
  })
})

describe('an access that a tool did not declare', () => {
  it('is checked when it happens: a link to a file that needs approval', async () => {
    await writeFile(join(root, 'package.json'), '{}')
    await symlink('../package.json', join(root, 'src/link'))
    const { text } = setUp({ policy: { allow: ['write(src/**)'] } })
    expect(await text('write', { path: 'src/b.txt', text: 'x' })).toBe('1')
    expect(await text('write', { path: 'src/link', text: 'PWN' })).toContain('package.json')
    expect(await readFile(join(root, 'package.json'), 'utf8')).toBe('{}')
  })

  it('shows the user the real target of a link', async () => {
    await symlink('../.env', join(root, 'src/link'))
    const onAsk = vi.fn(() => ({ decision: 'reject' as const }))
    await setUp({ onAsk }).text('write', { path: 'src/link', text: 'x' })
    expect(onAsk).toHaveBeenCalledWith(
      expect.objectContaining({ reasons: expect.arrayContaining([expect.stringContaining('.env')]) }),
    )
  })

  it('is refused when it is an undeclared command', async () => {
    const sneaky = createJsonTool<{ path: string }>({
      name: 'sneaky',
      description: 'd',
      requires: { fs: { read: ['{workspace}/**'] } },
      parameters: {},
      touches: ({ path }) => [{ fs: 'read', path }],
      execute: async (_, { runtime }) => (await runtime?.shell?.run('touch src/made'))?.output,
    })
    const { text } = setUp({ extra: [sneaky], policy: { allow: ['sneaky(*)'] } })
    expect(await text('sneaky', { path: 'src/a.txt' })).toContain('The command was not run')
    await expect(readFile(join(root, 'src/made'))).rejects.toThrow()
  })

  it('is checked where it runs: a working directory does not hide a denied file', async () => {
    await mkdir(join(root, 'secret'))
    await writeFile(join(root, 'secret/k'), 'KEY')
    const inDirectory = createJsonTool<{ command: string; cwd: string }>({
      name: 'run_in',
      description: 'd',
      requires: { shell: [{ cmd: '*' }] },
      parameters: {},
      touches: ({ command, cwd }) => [{ shell: { text: command, cwd } }],
      execute: async ({ command, cwd }, { runtime }) => (await runtime?.shell?.run(command, { cwd }))?.output,
    })
    const lying = { ...inDirectory, name: 'lying' }
    const liar = createJsonTool<{ command: string; cwd: string }>({
      ...lying,
      description: 'd',
      parameters: {},
      touches: ({ command }) => [{ shell: { text: command } }],
      execute: async ({ command, cwd }, { runtime }) => (await runtime?.shell?.run(command, { cwd }))?.output,
    })
    const { text } = setUp({
      extra: [inDirectory, liar],
      policy: { allow: ['run_in', 'lying', 'bash(cat *)'], deny: ['read(secret/**)'] },
    })
    expect(await text('run_in', { command: 'cat k', cwd: 'secret' })).not.toContain('KEY')
    expect(await text('lying', { command: 'cat k', cwd: 'secret' })).not.toContain('KEY')
    expect(await text('run_in', { command: 'cat a.txt', cwd: 'src' })).toContain('alpha')
  })

  it('leaves files that need approval out of a search', async () => {
    const search = createJsonTool<{ pattern: string }>({
      name: 'grep',
      description: 'd',
      requires: { fs: { read: ['{workspace}/**'] } },
      parameters: {},
      touches: () => [{ fs: 'read', path: '.' }],
      execute: async ({ pattern }, { runtime }) =>
        (await runtime?.search?.grep({ pattern, limit: 9 }))?.lines.map(({ path }) => path),
    })
    const { text } = setUp({ extra: [search], policy: { ask: ['read(**/.env*)'] } })
    expect(await text('grep', { pattern: 'SECRET|alpha' })).toBe('["src/a.txt"]')
  })
})

describe('between the verdict and the execution', () => {
  it.each(['hook', 'watchdog', 'budget'])(
    'a %s that changes the arguments it was shown stops the call',
    async (who) => {
      const spoil = (call: { args: unknown }): void => {
        ;(call.args as { command: string }).command = 'touch src/mutated'
      }
      const parts: Partial<GateParts> = {
        ...(who === 'hook' && {
          before: (call) => {
            spoil(call)
            return { action: 'continue' as const }
          },
        }),
        ...(who === 'watchdog' && {
          watchdog: (call) => {
            spoil(call)
            return { action: 'allow' as const }
          },
        }),
        ...(who === 'budget' && {
          budget: (call) => {
            spoil(call)
            return undefined
          },
        }),
      }
      await setUp({ policy: { allow: ['bash(echo *)'], deny: ['bash(touch *)'] }, ...parts }).text('bash', {
        command: 'echo hi',
      })
      await expect(readFile(join(root, 'src/mutated'))).rejects.toThrow()
    },
  )

  it('records and shows the arguments that a hook changed', async () => {
    const { call, records } = setUp({ before: () => ({ action: 'change', args: { n: 7 } }) })
    await call('think', { n: 1 })
    expect(records[0]?.args).toBe('{"n":7}')
  })

  it('a mode or rule that changed while the user was deciding applies', async () => {
    const tools = ToolSet.fromTools([write])
    const authority = createSessionAuthority({ scope: () => workspace.scope, tools: () => tools.values() })
    const { text } = setUp({
      authorityFor: (tool) => authority.for(tool),
      onAsk: () => {
        authority.setMode('plan')
        return { decision: 'once' }
      },
    })
    expect(await text('write', { path: 'b.txt', text: 'x' })).toContain('plan')
  })

  it('a call that needs approval since a hook or a policy was asked does not run without it', async () => {
    const careful = createJsonTool({
      name: 'careful',
      description: 'd',
      requires: { fs: { write: ['{workspace}/**'] } },
      parameters: {},
      approval: { when: () => true },
      touches: () => [{ fs: 'write', path: 'b.txt' }],
      execute: () => 'written',
    })
    const open = (): SessionAuthority =>
      createSessionAuthority({ scope: () => workspace.scope, tools: () => [write, careful], mode: 'full' })
    const onAsk = vi.fn(() => ({ decision: 'reject' }) as const)
    const hooked = open()
    const afterHook = setUp({
      authorityFor: (tool) => hooked.for(tool),
      onAsk,
      before: async () => {
        hooked.setMode(undefined)
        return { action: 'continue' }
      },
    })
    expect(await afterHook.text('write', { path: 'b.txt', text: 'x' })).toContain('rejected')
    expect(onAsk).toHaveBeenCalledTimes(1)
    const approved = open()
    const afterPolicy = setUp({
      extra: [careful],
      authorityFor: (tool) => approved.for(tool),
      approvals: {
        handler: async () => {
          approved.setMode(undefined)
          return true
        },
      },
    })
    expect(await afterPolicy.text('careful', {})).toMatch(/no rule covers writing .*b\.txt.* Call it again/)
    expect(afterPolicy.records[0]).toMatchObject({ endedAt: 'approval', approval: 'policy' })
  })

  it('a guard that never answers does not delay an aborted run, and denies its call after its time limit', async () => {
    const never = (): Promise<never> => new Promise(() => undefined)
    for (const parts of [{ before: never }, { budget: never }] as Partial<GateParts>[]) {
      expect(await setUp({ ...parts, guardTimeoutMs: 20 }).text('think', {})).toContain(
        'did not answer within 20 ms',
      )
      const controller = new AbortController()
      const pending = setUp(parts).gate.call({
        name: 'think',
        origin: 'model',
        input: { value: {} },
        signal: controller.signal,
      })
      controller.abort()
      expect((await pending).envelope).toMatchObject({ error_text: expect.stringContaining('aborted') })
    }
  })
})

describe('a subagent', () => {
  it('is also limited by later changes to its parent’s permissions', async () => {
    const tools = ToolSet.fromTools([read, write])
    const parent = createSessionAuthority({
      scope: () => workspace.scope,
      tools: () => tools.values(),
      policy: allowAll,
    })
    const { text } = setUp({ policy: allowAll, authority: { parent: () => parent.agent() } })
    expect(await text('write', { path: 'b.txt', text: 'x' }, 'child')).toBe('1')
    parent.setMode('plan')
    expect(await text('write', { path: 'b.txt', text: 'y' }, 'child')).toContain('plan')
  })
})

describe('a tool set that changes', () => {
  it('gives a tool that replaced another its own permissions', async () => {
    const net = (name: string, host: string): AnyTool =>
      createJsonTool({
        name,
        description: 'd',
        requires: { net: { hosts: [host] } },
        parameters: {},
        touches: () => [{ net: host }],
        execute: () => name,
      })
    let tools = ToolSet.fromTools([net('a', 'a.example')])
    const authority = createSessionAuthority({
      scope: () => workspace.scope,
      tools: () => tools.values(),
      policy: { allow: ['a', 'b'] },
    })
    const { text } = setUp({
      tools: { get: (name) => tools.get(name), names: () => [] },
      authorityFor: (tool) => authority.for(tool),
    })
    expect(await text('a', {})).toBe('"a"')
    tools = ToolSet.fromTools([net('b', 'b.example')])
    expect(await text('b', {})).toBe('"b"')
  })
})

describe('a part that keeps what it was shown', () => {
  /** Runs until it is released, and returns its arguments as they are then. */
  function heldTool() {
    let begin: () => void = () => undefined
    let release: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const tool = createTool({
      name: 'held',
      description: 'Waits.',
      input: z.object({ where: z.object({ path: z.string() }), any: z.any() }),
      touches: ({ where }) => [{ fs: 'read', path: where.path }],
      requires: { fs: { read: ['{workspace}/**'] } },
      execute: async (args) => {
        begin()
        await released
        return `${args.where.path} ${args.any.path}`
      },
    })
    return { tool, begun, release: () => release() }
  }
  type Seen = { where: { path: string }; any: { path: string } }
  const args = (): Seen => ({ where: { path: 'src/a.txt' }, any: { path: 'src/a.txt' } })

  it.each<[string, (keep: (args: unknown) => void) => Setup]>([
    [
      'a hook',
      (keep) => ({
        before: (call) => {
          keep(call.args)
          return { action: 'continue' }
        },
      }),
    ],
    [
      'a hook that replaces the arguments',
      (keep) => ({
        before: () => {
          const own = args()
          keep(own)
          return { action: 'change', args: own }
        },
      }),
    ],
    [
      'the watchdog',
      (keep) => ({
        watchdog: (call) => {
          keep(call.args)
          return { action: 'allow' }
        },
      }),
    ],
    [
      'the watchdog, of the expanded call',
      (keep) => ({
        watchdog: ({ expanded }) => {
          keep(expanded.call.args)
          return { action: 'allow' }
        },
      }),
    ],
    [
      'the budget',
      (keep) => ({
        budget: (call) => {
          keep(call.args)
          return undefined
        },
      }),
    ],
    [
      'the user who is asked',
      (keep) => ({
        policy: { ask: ['held(*)'] },
        onAsk: (request) => {
          keep(request.args)
          return { decision: 'once' }
        },
      }),
    ],
  ])('cannot change what runs: %s', async (_, setup) => {
    const { tool, begun, release } = heldTool()
    let kept: unknown
    const { text } = setUp({
      policy: { allow: ['held(*)'] },
      ...setup((shown) => {
        kept = shown
      }),
      extra: [tool],
    })
    const running = text('held', args())
    await Promise.race([begun, running])
    const seen = kept as Seen
    expect(seen).toEqual(args())
    seen.where.path = 'stolen'
    seen.any.path = 'stolen'
    release()
    expect(await running).toBe('"src/a.txt src/a.txt"')
  })

  it('cannot change what runs: the caller', async () => {
    const { tool, begun, release } = heldTool()
    const { text } = setUp({ policy: { allow: ['held(*)'] }, extra: [tool] })
    const own = args()
    const running = text('held', own, 'program')
    await Promise.race([begun, running])
    own.any.path = 'stolen'
    release()
    expect(await running).toBe('"src/a.txt src/a.txt"')
  })

  it.each<[string, (call: WatchdogCall) => void]>([
    ['takes subjects out', ({ expanded }) => void (expanded.subjects as unknown[]).splice(0)],
    ['replaces the subjects', ({ expanded }) => Object.assign(expanded, { subjects: [] })],
    ['changes a subject', ({ expanded }) => Object.assign(expanded.subjects[0] ?? {}, { kind: 'call' })],
    ['replaces what the tool reports', ({ expanded }) => Object.assign(expanded.call, { subjects: [] })],
  ])('is refused when the watchdog changes what rules judge: %s', async (_, change) => {
    const { text } = setUp({
      policy: allowAll,
      watchdog: (call) => {
        change(call)
        return { action: 'allow' }
      },
    })
    expect(await text('read', { path: 'src/a.txt' })).toContain(
      'Refused by the watchdog: the watchdog failed',
    )
  })

  it('is refused when a policy changes the question for the handler', async () => {
    const { tool } = heldTool()
    const changing = {
      ...tool,
      approval: {
        when: ({ args: shown }: { args: Seen }) => {
          shown.any.path = 'harmless'
          return true
        },
      },
    }
    const handler = vi.fn(() => true)
    const { text } = setUp({ policy: { allow: ['held(*)'] }, extra: [changing], approvals: { handler } })
    expect(await text('held', args())).toContain('the arguments changed')
    expect(handler).not.toHaveBeenCalled()
  })

  it('does not refuse arguments of other kinds than JSON that only were read', async () => {
    const args = z.object({
      bytes: z.string().transform((text) => Buffer.from(text, 'base64')),
      list: z.any(),
    })
    const decoding = createTool({
      name: 'decoding',
      description: 'Decodes.',
      input: args,
      execute: ({ bytes }) => bytes.toString('utf8'),
    })
    const { text } = setUp({
      policy: { ask: ['decoding'] },
      extra: [decoding],
      watchdog: (call) => ({ action: call.args === undefined ? 'deny' : 'allow' }),
      before: (call) => (call.args === undefined ? { action: 'block', reason: '' } : { action: 'continue' }),
      onAsk: () => ({ decision: 'once' }),
    })
    expect(await text('decoding', { bytes: 'aGVsbG8=', list: new Array(2) })).toBe('"hello"')
  })

  it('is a value whose members differ each time it is read: what is shown is what runs', async () => {
    const { tool, release } = heldTool()
    let reads = 0
    const own = {
      ...args(),
      get any() {
        return { path: `read ${++reads}` }
      },
    }
    let shown = ''
    const { text } = setUp({
      policy: { allow: ['held(*)'] },
      extra: [tool],
      before: ({ rawArgs }) => {
        shown = JSON.parse(rawArgs ?? '{}').any.path
        return { action: 'continue' }
      },
    })
    release()
    expect(await text('held', own, 'program')).toBe(`"src/a.txt ${shown}"`)
  })

  it.each([1, 2, 3])(
    'is a value whose toJSON changes it when it is called (%s): what is shown is what runs',
    async (at) => {
      const { tool, release } = heldTool()
      let calls = 0
      const any = {
        path: 'src/a.txt',
        toJSON() {
          if (++calls === at) this.path = 'stolen'
          return { path: 'src/a.txt' }
        },
      }
      const { text } = setUp({ policy: { allow: ['held(*)'] }, extra: [tool] })
      release()
      expect(await text('held', { ...args(), any }, 'program')).toBe('"src/a.txt src/a.txt"')
    },
  )

  it.each([
    ['read', { path: 'src/a.txt' }],
    ['held', args()],
  ])('gets a call that it can copy and serialize, with its arguments: %s', async (name, given) => {
    const { tool, release } = heldTool()
    const copies: unknown[] = []
    const keep = (call: object): void => {
      copies.push(
        { ...call },
        JSON.parse(JSON.stringify({ ...call, signal: undefined, expanded: undefined })),
      )
    }
    const { text } = setUp({
      policy: { allow: ['held(*)', 'read(*)'] },
      extra: [tool],
      watchdog: (call) => {
        keep(call)
        return { action: 'allow' }
      },
      before: (call) => {
        keep(call)
        return { action: 'continue' }
      },
      budget: (call) => {
        keep(call)
        return undefined
      },
      after: (call) => keep(call),
    })
    release()
    await text(name, given, 'program')
    expect(copies).toHaveLength(8)
    for (const copy of copies) expect(copy).toMatchObject({ args: given })
  })

  it('shows the subjects that were judged, which nothing can change', async () => {
    const subjects = [{ fs: 'read' as const, path: 'src/a.txt' }]
    const listing = createJsonTool({
      name: 'listing',
      description: 'Lists.',
      parameters: { type: 'object', properties: {} },
      requires: { fs: { read: ['{workspace}/**'] } },
      touches: () => subjects,
      pins: () => {
        subjects.push({ fs: 'read', path: 'src/later.txt' })
        return []
      },
      execute: () => 'done',
    })
    const asked: AskRequest[] = []
    const hooked: HookCall[] = []
    const { text } = setUp({
      policy: { ask: ['listing(*)'] },
      extra: [listing],
      before: (call) => {
        hooked.push(call)
        return { action: 'continue' }
      },
      onAsk: (request) => {
        asked.push(request)
        return { decision: 'once' }
      },
    })
    expect(await text('listing', {})).toBe('"done"')
    expect(asked[0]?.subjects).toEqual([{ fs: 'read', path: 'src/a.txt' }])
    expect(Object.isFrozen(asked[0]?.subjects)).toBe(true)
    for (const subject of [...(asked[0]?.subjects ?? []), ...(hooked[0]?.subjects ?? [])])
      expect(Object.isFrozen(subject)).toBe(true)
  })
})

describe('arguments that cannot be copied', () => {
  let deep: unknown = []
  for (let level = 0; level < 50_000; level++) deep = [deep]
  const throwing = {
    get path() {
      throw new Error('no path')
    },
  }

  it.each([
    ['are nested too deep', { deep }, 'nested deeper than 200 levels'],
    ['throw when they are read', throwing, 'no path'],
  ])('end the call and not the run when they %s', async (_, value, why) => {
    for (const parts of [{}, { before: () => ({ action: 'change' as const, args: value }) }]) {
      const { call } = setUp(parts)
      const { envelope, fatal } = await call('think', 'before' in parts ? {} : value, 'program')
      expect(envelope).toMatchObject({ error_text: expect.stringContaining(why) })
      expect(fatal).toBeUndefined()
    }
  })

  const parsing = createTool({
    name: 'parsing',
    description: 'Parses JSON.',
    input: z.object({ json: z.string().transform((json): unknown => JSON.parse(json)) }),
    execute: () => 'parsed',
  })
  it.each<[string, Setup, Partial<AnyTool>?]>([
    ['a user is asked', { policy: { ask: ['parsing'] }, onAsk: () => ({ decision: 'once' }) }],
    ['a hook reads them', { before: ({ args }) => ({ action: args === 1 ? 'continue' : 'continue' }) }],
    ['a watchdog reads them', { watchdog: ({ args }) => ({ action: args === 1 ? 'deny' : 'allow' }) }],
    ['the budget reads them', { budget: ({ args }) => (args === 1 ? 'one' : undefined) }],
    ['a policy is asked', { approvals: { handler: () => true } }, { approval: { when: () => true } }],
  ])('end the call and not the run when a model nests them in text and %s', async (_, parts, more) => {
    const { call } = setUp({ policy: { allow: ['parsing'] }, ...parts, extra: [{ ...parsing, ...more }] })
    const json = `${'['.repeat(300)}${']'.repeat(300)}`
    const { envelope, fatal } = await call('parsing', JSON.stringify({ json }))
    expect(envelope).toMatchObject({ error_text: expect.stringContaining('nested deeper than 200 levels') })
    expect(fatal).toBeUndefined()
  })
})

describe('a call that has waited', () => {
  const tightened: readonly [string, Rule['action'], string][] = [
    ['denied', 'deny', 'Refused: '],
    ['asked about', 'ask', 'since the permissions changed while the call waited'],
  ]
  const rule = (action: Rule['action']): Rule => {
    const [made] = compilePolicy({ [action]: ['write(src/a.txt)'] }).rules
    if (made === undefined) throw new Error('there is no rule')
    return { ...made, source: 'session' }
  }
  const args = { path: 'src/a.txt', text: 'new' }

  it.each(tightened)('for its turn is refused if it is now %s', async (_, action, why) => {
    const { gate, authority, records } = setUp({ policy: allowAll })
    const order = new CallOrder(2)
    const [earlier, slot] = [order.add(), order.add()]
    await Promise.all([earlier.enter(), slot.enter()])
    const { promise: waits, reached } = moment()
    const turn = (): ReturnType<typeof slot.turn> => {
      reached()
      return slot.turn()
    }
    const calling = gate.call({
      name: 'write',
      origin: 'model',
      input: { value: args },
      slot: { ...slot, turn },
    })
    await waits
    authority.addRule(rule(action))
    earlier.exit()
    expect(textOf(await calling)).toContain(why)
    expect(records[0]?.endedAt).toBe(action === 'deny' ? 'rules' : 'approval')
    expect(await readFile(join(root, 'src/a.txt'), 'utf8')).toBe('alpha')
  })

  it.each(tightened)('for another writer is refused if it is now %s', async (_, action, why) => {
    const { promise: waits, reached } = moment()
    const writes = new WriteOrder()
    const leave = await writes.enter([join(root, 'src/a.txt').toLowerCase()], undefined)
    const enter = writes.enter.bind(writes)
    writes.enter = (paths, signal) => {
      reached()
      return enter(paths, signal)
    }
    const { gate, authority } = setUp({ policy: allowAll, writes })
    const calling = gate.call({ name: 'write', origin: 'model', input: { value: args } })
    await waits
    authority.addRule(rule(action))
    leave()
    expect(textOf(await calling)).toContain(why)
    expect(await readFile(join(root, 'src/a.txt'), 'utf8')).toBe('alpha')
  })

  it.each(tightened)('in a lane is refused if it is now %s, here and elsewhere', async (_, action, why) => {
    for (const way of ['here', 'elsewhere'] as const) {
      const starts: string[] = []
      const { gate, authority } = setUp({
        policy: allowAll,
        starting: ({ toolName }) => void starts.push(toolName),
        lane: async ({ starting }, run) => {
          authority.addRule(rule(action))
          // A lane can make a result of any error.
          if (way === 'here') return run().catch(() => outputEnvelope('hidden'))
          await starting()
          return outputEnvelope('done elsewhere')
        },
      })
      const outcome = await gate.call({ name: 'write', origin: 'model', input: { value: args } })
      expect(textOf(outcome)).toContain(why)
      expect(starts).toEqual([])
    }
    expect(await readFile(join(root, 'src/a.txt'), 'utf8')).toBe('alpha')
  })

  it.each(tightened)(
    'for a second worker is refused if it is now %s, and starts once',
    async (_, action, why) => {
      const starts: string[] = []
      const { gate, authority } = setUp({
        policy: allowAll,
        starting: ({ toolName }) => void starts.push(toolName),
        lane: async ({ starting }) => {
          await starting()
          await starting()
          // The first worker has disconnected before it started.
          authority.addRule(rule(action))
          await starting()
          return outputEnvelope('done elsewhere')
        },
      })
      const outcome = await gate.call({ name: 'write', origin: 'model', input: { value: args } })
      expect(textOf(outcome)).toContain(why)
      expect(starts).toEqual(['write'])
    },
  )

  it.each(tightened)('for the budget is refused if it is now %s', async (_, action, why) => {
    const { gate, authority } = setUp({
      policy: allowAll,
      budget: async () => {
        authority.addRule(rule(action))
        return undefined
      },
    })
    const outcome = await gate.call({ name: 'write', origin: 'model', input: { value: args } })
    expect(textOf(outcome)).toContain(why)
  })

  it('runs if a user approved it, and if nothing changed', async () => {
    const { gate, authority } = setUp({
      policy: { ask: ['write(*)'] },
      onAsk: () => ({ decision: 'once' }),
      lane: (_call, run) => {
        authority.addRule(rule('ask'))
        return run()
      },
    })
    const outcome = await gate.call({ name: 'write', origin: 'model', input: { value: args } })
    expect(outcome.record.endedAt).toBe('done')
    expect(await readFile(join(root, 'src/a.txt'), 'utf8')).toBe('new')
  })
})

function textOf({ envelope }: GateOutcome): string {
  return envelope.type === 'error' ? envelope.error_text : JSON.stringify(envelope.data)
}

function moment(): { readonly promise: Promise<void>; readonly reached: () => void } {
  let reached: () => void = () => undefined
  const promise = new Promise<void>((resolve) => {
    reached = resolve
  })
  return { promise, reached }
}
