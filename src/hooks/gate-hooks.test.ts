import { describe, expect, it } from 'vitest'
import type { AskHandler, AskRequest } from '../loop/ask.js'
import { createGate } from '../loop/gate.js'
import type { CallRecord, GateParts } from '../loop/gate-parts.js'
import { createSessionAuthority } from '../loop/session-authority.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { ToolSet } from '../tool/tool-set.js'
import { gateHooks, hookedAsk } from './gate-hooks.js'
import { createHooks, type Hooks } from './hooks.js'

const ran: unknown[] = []
const bash = createJsonTool<{ command: string }>({
  name: 'bash',
  description: 'Run a command.',
  kind: 'execute',
  requires: { shell: [{ cmd: 'ls' }, { cmd: 'rm' }] },
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  touches: ({ command }) => [{ shell: { text: command } }],
  execute: (args) => {
    ran.push(args)
    if (args.command === 'ls fail') return errorEnvelope('no such file', { exit_code: 2 })
    return outputEnvelope({ listed: args.command }, { exit_code: 0 })
  },
})

function setUp(parts: Partial<GateParts> = {}): {
  hooks: Hooks
  records: CallRecord[]
  call(args: unknown): Promise<string>
} {
  ran.length = 0
  const hooks = createHooks({ session: { sessionId: 's', workspace: '/ship' }, now: () => 0 })
  const tools = ToolSet.fromTools([bash])
  const records: CallRecord[] = []
  const authority = createSessionAuthority({
    scope: () => scope,
    tools: () => tools.values(),
    policy: { allow: ['bash(ls *)'], deny: ['bash(rm *)'] },
  })
  let ids = 0
  const gate = createGate({
    tools: { get: (name) => tools.get(name), names: () => ['bash'] },
    authorityFor: (tool) => authority.for(tool),
    spill: async () => '/nowhere',
    record: (record) => {
      records.push(record)
    },
    now: () => 0,
    newId: () => `call-${++ids}`,
    ...gateHooks(hooks),
    ...parts,
  })
  const call = async (args: unknown): Promise<string> => {
    const { envelope } = await gate.call({ name: 'bash', origin: 'model', input: { value: args } })
    return envelope.type === 'error' ? envelope.error_text : JSON.stringify(envelope.data)
  }
  return { hooks, records, call }
}

const scope = { variables: { workspace: ['/ship'] } }

describe('hooks at the gate', () => {
  it('block a call before it runs', async () => {
    const { hooks, call } = setUp()
    hooks.register('g', 'pre_tool_use', { tool: 'bash', commandPattern: 'secret' }, null, () => ({
      action: 'block',
      reason: 'not that one',
    }))
    expect(await call({ command: 'ls secret' })).toBe('Blocked by a hook: not that one')
    expect(ran).toEqual([])
    expect(await call({ command: 'ls open' })).toBe('{"listed":"ls open"}')
  })

  it('block the call when they fail, with a message that names the hook', async () => {
    const { hooks, call } = setUp()
    hooks.register('policy', 'pre_tool_use', null, null, () => {
      throw new Error('no connection')
    })
    expect(await call({ command: 'ls' })).toMatch(/hook "policy" failed, so this is denied: .*no connection/)
    expect(ran).toEqual([])
  })

  it('change arguments, which are then checked and judged again', async () => {
    const { hooks, call } = setUp()
    hooks.register('c', 'pre_tool_use', null, null, ({ payload: { args } }) => ({
      action: 'continue',
      modified: {
        updatedInput: (args as { command: string }).command === 'ls a' ? { command: 'ls b' } : answer,
      },
    }))
    let answer: unknown = { command: 'rm x' }
    expect(await call({ command: 'ls a' })).toBe('{"listed":"ls b"}')
    expect(await call({ command: 'ls x' })).toMatch(/^Refused: /)
    answer = { command: 7 }
    expect(await call({ command: 'ls x' })).toMatch(/command/)
    expect(ran).toEqual([{ command: 'ls b' }])
  })

  it('cannot change arguments without a new check by the gate', async () => {
    const { hooks, call } = setUp()
    hooks.register('c', 'pre_tool_use', null, null, ({ payload }) => {
      Object.assign(payload.args as object, { command: 'rm x' })
    })
    expect(await call({ command: 'ls' })).toBe('Blocked: a hook changed the arguments it was shown.')
    expect(ran).toEqual([])
  })

  it('receive the result, also of a failed call, and the arguments that ran', async () => {
    const { hooks, call } = setUp()
    const seen: unknown[] = []
    hooks.register('after', 'post_tool_use', { tool: 'bash' }, null, ({ payload: { result, call_id } }) => {
      seen.push([call_id, result])
    })
    let recent: readonly string[] = []
    hooks.register('before', 'pre_tool_use', null, null, ({ payload }) => {
      recent = payload.recent_tools
    })
    await call({ command: 'ls ok' })
    await call({ command: 'ls fail' })
    expect(seen).toEqual([
      [
        'call-1',
        { success: true, output: '{"listed":"ls ok"}', exit_code: 0, duration_ms: expect.any(Number) },
      ],
      ['call-2', { success: false, output: 'no such file', exit_code: 2, duration_ms: expect.any(Number) }],
    ])
    expect(recent).toEqual(['bash'])
    for (let n = 0; n < 12; n += 1) await call({ command: 'ls' })
    expect(recent).toHaveLength(10)
  })

  it('still block when they answer after the gate stopped waiting', async () => {
    const { hooks, call } = setUp({ guardTimeoutMs: 10 })
    hooks.register('slow', 'pre_tool_use', null, null, () => new Promise(() => undefined))
    expect(await call({ command: 'ls' })).toBe('Blocked: a hook did not answer within 10 ms.')
  })

  it('create no promise when there are none', () => {
    const { before, after } = gateHooks(
      createHooks({ session: { sessionId: 's', workspace: '/' }, now: () => 0 }),
    )
    const call = { toolName: 'bash', args: {}, origin: 'model', callId: 'c' } as const
    expect(before(call)).toEqual({ action: 'continue' })
    expect(after({ ...call, envelope: outputEnvelope('') })).toBeUndefined()
  })

  it('match the subjects that the gate reports, in addition to the arguments', async () => {
    const { hooks } = setUp()
    hooks.register('g', 'pre_tool_use', { pathPattern: 'src/**' }, null, () => ({ action: 'block' }))
    const ask = gateHooks(hooks).before
    const call = { toolName: 'patch', args: { text: '…' }, origin: 'model', callId: 'c' } as const
    const subjects = [{ fs: 'write', path: 'src/a.ts' }, { shell: { argv: ['ls'] } }] as const
    const known = { ...call, subjects }
    expect(await ask(known)).toEqual({ action: 'block', reason: 'Blocked by hook' })
    expect(await ask(call)).toEqual({ action: 'continue' })
  })
})

describe('hooks around an approval', () => {
  const request: AskRequest = {
    id: 'ask-1',
    key: 'k',
    toolName: 'bash',
    args: { command: 'git push' },
    subjects: [{ shell: { text: 'git push' } }],
    reasons: ['it pushes'],
    rules: [],
    notes: [],
  }

  it('permission_request can refuse before the user is asked', async () => {
    const { hooks } = setUp()
    let asked = 0
    const onAsk: AskHandler = () => {
      asked += 1
      return { decision: 'once' }
    }
    hooks.register('p', 'permission_request', { commandPattern: 'push' }, null, ({ payload }) => ({
      action: 'block',
      reason: payload.reasons.join(),
    }))
    expect(await hookedAsk(hooks, onAsk)(request)).toEqual({
      decision: 'reject',
      message: 'Blocked by a hook: it pushes',
      automatic: true,
    })
    expect(asked).toBe(0)
  })

  it.each([
    ['always', true],
    ['reject', false],
  ] as const)('on_confirmation receives the answer: %s', async (decision, approved) => {
    const { hooks } = setUp()
    const seen: unknown[] = []
    hooks.register('c', 'on_confirmation', null, null, ({ payload }) => {
      seen.push(payload)
    })
    expect(await hookedAsk(hooks, () => ({ decision, message: 'so' }))(request)).toEqual({
      decision,
      message: 'so',
    })
    expect(seen).toEqual([expect.objectContaining({ request_id: 'ask-1', approved, decision, reason: 'so' })])
  })

  it('an invalid answer is a rejection, as at the gate', async () => {
    const { hooks } = setUp()
    const seen: unknown[] = []
    hooks.register('c', 'on_confirmation', null, null, ({ payload }) => {
      seen.push(payload.decision)
    })
    expect(await hookedAsk(hooks, (() => null) as never)(request)).toBeNull()
    expect(seen).toEqual(['reject'])
  })
})
