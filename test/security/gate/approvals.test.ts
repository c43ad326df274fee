import { describe, expect, it } from 'vitest'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { AskAnswer, AskRequest } from '../../../src/loop/ask.js'
import { createGate, type Gate } from '../../../src/loop/gate.js'
import type { GateParts } from '../../../src/loop/gate-parts.js'
import { createSessionAuthority, type SessionAuthority } from '../../../src/loop/session-authority.js'
import { createJsonTool } from '../../../src/tool/create-json-tool.js'
import { ToolSet } from '../../../src/tool/tool-set.js'

const scope = { variables: { workspace: ['/ship'] } }

function session(
  policy: PermissionPolicy = {},
  parts: Partial<GateParts> = {},
): { gate: Gate; ran: string[]; tools: ToolSet; authority: SessionAuthority } {
  const ran: string[] = []
  const bash = createJsonTool<{ command: string }>({
    name: 'bash',
    description: 'd',
    requires: { shell: [{ cmd: '*' }] },
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    touches: ({ command }) => [{ shell: { text: command } }],
    execute: ({ command }) => {
      ran.push(command)
      return 'ran'
    },
  })
  const tools = ToolSet.fromTools([bash])
  const authority = createSessionAuthority({ scope: () => scope, tools: () => tools.values(), policy })
  let ids = 0
  const gate = createGate({
    tools: { get: (name) => tools.get(name), names: () => [] },
    authorityFor: (tool) => authority.for(tool),
    keepRule: (rule) => authority.addRule(rule),
    spill: async () => 'nowhere',
    now: () => 0,
    newId: () => `call-${++ids}`,
    ...parts,
  })
  return { gate, ran, tools, authority }
}
const call = (gate: Gate, command: string, origin: 'model' | 'host' = 'model'): Promise<unknown> =>
  gate.call({ name: 'bash', origin, input: { value: { command } } })

describe('approvals', () => {
  it('SEC-221 an approval is for this call: other arguments, agent or session have another key', async () => {
    const keys = new Set<string>()
    const ask = (run: GateParts['run'], command: string): Promise<unknown> =>
      call(
        session(
          {},
          {
            ...(run && { run }),
            onAsk: ({ key }) => {
              keys.add(key)
              return { decision: 'reject' }
            },
          },
        ).gate,
        command,
      )
    await ask({ agentId: 'a', runId: 'r', sessionId: 's' }, 'git push origin a')
    await ask({ agentId: 'a', runId: 'r', sessionId: 's' }, 'git push origin b')
    await ask({ agentId: 'b', runId: 'r', sessionId: 's' }, 'git push origin a')
    await ask({ agentId: 'a', runId: 'r', sessionId: 't' }, 'git push origin a')
    expect(keys.size).toBe(4)
    await ask({ agentId: 'a', runId: 'later', sessionId: 's' }, 'git push origin a')
    expect(keys.size).toBe(4)
  })

  it('SEC-222 "always" for one command covers nothing that is chained to it', async () => {
    const asked: string[] = []
    const { gate, ran } = session(
      {},
      {
        onAsk: ({ args }) => {
          asked.push((args as { command: string }).command)
          return { decision: 'session' }
        },
      },
    )
    for (const command of ['npm test', 'npm test', 'npm test; rm x', 'npm test -- --reporter=./evil.js'])
      await call(gate, command)
    expect(asked).toEqual(['npm test', 'npm test; rm x', 'npm test -- --reporter=./evil.js'])
    expect(ran).toHaveLength(4)
  })

  it('SEC-225 an aborted run, a closed terminal and no user at all mean no approval', async () => {
    const controller = new AbortController()
    const waiting = session({}, { onAsk: () => new Promise(() => undefined) })
    const pending = waiting.gate.call({
      name: 'bash',
      origin: 'model',
      input: { value: { command: 'ls' } },
      signal: controller.signal,
    })
    controller.abort()
    expect((await pending).envelope.type).toBe('error')
    const broken = session({}, { onAsk: () => Promise.reject(new Error('stdin closed')) })
    await call(broken.gate, 'ls')
    const headless = session()
    await call(headless.gate, 'ls')
    expect([waiting.ran, broken.ran, headless.ran]).toEqual([[], [], []])
  })

  it('SEC-226 of two pending calls, only the approved one runs', async () => {
    const waiting = new Map<string, { request: AskRequest; answer: (answer: AskAnswer) => void }>()
    const { gate, ran } = session(
      {},
      {
        onAsk: (request) =>
          new Promise((answer) =>
            waiting.set(String((request.args as { command: string }).command), { request, answer }),
          ),
      },
    )
    const both = [call(gate, 'ls a'), call(gate, 'ls b')]
    while (waiting.size < 2) await new Promise((resolve) => setImmediate(resolve))
    expect(waiting.get('ls a')?.request.id).not.toBe(waiting.get('ls b')?.request.id)
    waiting.get('ls b')?.answer({ decision: 'once' })
    waiting.get('ls a')?.answer({ decision: 'reject' })
    await Promise.all(both)
    expect(ran).toEqual(['ls b'])
  })

  it('SEC-229 a watchdog cannot turn a refusal into a permission', async () => {
    const { gate, ran } = session({ deny: ['bash(rm *)'] }, { watchdog: () => ({ action: 'allow' }) })
    await call(gate, 'rm x')
    expect(ran).toEqual([])
  })

  it('SEC-236 rules do not apply to the host’s own calls, and the checks do', async () => {
    const { gate, ran } = session({ deny: ['bash'] })
    await call(gate, 'ls', 'host')
    expect(ran).toEqual(['ls'])
    expect(await gate.call({ name: 'bash', origin: 'host', input: { value: { command: 3 } } })).toMatchObject(
      { envelope: { type: 'error' } },
    )
  })
})
