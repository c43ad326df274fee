/**
 * SEC-231, SEC-232: over random policies, modes and trees of subagents, nothing reaches what an ancestor may not do. What each session
 * of a tree may is taken from its own gate, with real sessions and calls; the judgement of the root is the measure.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { AskRequest } from '../../../src/loop/ask.js'
import type { SessionOptions } from '../../../src/session/options.js'
import { agentsPart } from '../../../src/session/parts/agents.js'
import { coreOf } from '../../../src/session/surface/session-surface.js'
import type { AgentDefinition } from '../../../src/subagents/agent-definition.js'
import { makeWorkspace, whenDone } from '../../contract/open-session.js'
import { byPrompt, call } from '../../contract/subagents.js'

/** Calls that tell policies apart. Each says by its result whether it ran. */
const probes = [
  { name: 'read', args: { file_path: 'a.txt' } },
  { name: 'read', args: { file_path: 'secret/key.txt' } },
  { name: 'write', args: { file_path: 'out/b.txt', content: 'x' } },
  { name: 'write', args: { file_path: 'a.txt', content: 'sign' } },
  { name: 'bash', args: { command: 'true' } },
  { name: 'bash', args: { command: 'ls secret' } },
] as const

const patterns = [
  'read',
  'read(secret/**)',
  'write',
  'write(out/**)',
  'write(a.txt)',
  'bash',
  'bash(true)',
  'bash(ls *)',
  'fs.write',
  'task',
  '*',
]

const policy: fc.Arbitrary<PermissionPolicy> = fc
  .record({
    actions: fc.array(fc.constantFrom('allow', 'ask', 'deny', undefined), {
      minLength: patterns.length,
      maxLength: patterns.length,
    }),
    defaultDecision: fc.constantFrom('allow', 'ask', 'deny', undefined),
  })
  .map(({ actions, defaultDecision }) => {
    const of = (action: string): string[] => patterns.filter((_, at) => actions[at] === action)
    return {
      allow: of('allow'),
      ask: of('ask'),
      // A tree whose root hands nothing on would show nothing.
      deny: of('deny').filter((pattern) => pattern !== 'task' && pattern !== '*'),
      ...(defaultDecision !== undefined && { defaultDecision }),
    }
  })

const toolNames = ['read', 'write', 'bash', 'task']
const tree = fc.record({
  root: policy,
  mode: fc.constantFrom(undefined, 'plan', 'read-only', 'accept-edits', 'full') as fc.Arbitrary<
    SessionOptions['mode']
  >,
  agents: fc.array(
    fc.record({
      permissions: fc.option(policy, { nil: undefined }),
      tools: fc.option(
        fc.subarray(toolNames).map((names) => [...new Set([...names, 'task'])]),
        { nil: undefined },
      ),
      confirmationInheritance: fc.constantFrom(
        undefined,
        'auto_approve',
        'deny_on_ask',
        'inherit_parent',
      ) as fc.Arbitrary<AgentDefinition['confirmationInheritance']>,
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

type Ran = { readonly ran: boolean; readonly asked: boolean }

/**
 * What becomes of every probe in the session that `depth` agents lead to: handed from one to the next, the last one calls. A person who
 * says no to everything but handing work on sees what was asked.
 */
async function outcomes(
  agent: Agent,
  workspace: string,
  options: SessionOptions,
  agents: readonly AgentDefinition[],
): Promise<Ran[]> {
  const asked = new Set<string>()
  const model = byPrompt(({ prompt, turn, request }) => {
    const level = Number(prompt.split(' ')[1])
    if (turn > 0) return 'done'
    if (level < agents.length)
      return call('task', { agent: `agent${level}`, prompt: `level ${level + 1}` }, `hand-${level}`)
    const shown = new Set(request.tools.map(({ name }) => name))
    const known = probes.flatMap(({ name, args }, at) =>
      shown.has(name) ? [{ name, args, id: `probe-${at}` }] : [],
    )
    return known.length === 0 ? 'no tools' : { toolCalls: known }
  })
  const session = agent.session(workspace, {
    ...options,
    model,
    sandbox: 'off',
    onAsk: ({ toolName, toolCallId = '' }: AskRequest) => {
      if (toolName === 'task') return { decision: 'once' }
      asked.add(toolCallId.split(':').at(-1) ?? '')
      return { decision: 'reject' }
    },
  })
  for (const definition of agents) coreOf(session).part(agentsPart).add(definition)
  const result = new Map<string, boolean>()
  session.registerHook('see', 'post_tool_use', null, null, ({ payload }) => {
    const at = probes.findIndex(
      ({ name, args }) => name === payload.tool && JSON.stringify(args) === JSON.stringify(payload.args),
    )
    if (at >= 0) result.set(`probe-${at}`, payload.result.success)
  })
  await session.send('level 0')
  await session.close()
  return probes.map((_, at) => ({ ran: result.get(`probe-${at}`) ?? false, asked: asked.has(`probe-${at}`) }))
}

describe('authority of subagents', () => {
  it('never exceeds that of any ancestor: what they may not do is not done, what they must ask is asked', async () => {
    const { root, userDir } = await makeWorkspace({
      'a.txt': 'sign',
      'secret/key.txt': 'key',
      'out/.keep': '',
    })
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    await fc.assert(
      fc.asyncProperty(tree, async ({ root: permissionPolicy, mode, agents }) => {
        const options: SessionOptions = {
          permissionPolicy,
          builtinTools: ['read', 'write', 'bash', 'task'],
          ...(mode !== undefined && { mode }),
        }
        const named = agents.map(
          (one, at): AgentDefinition => ({
            name: `agent${at}`,
            description: 'x',
            prompt: 'x',
            ...Object.fromEntries(Object.entries(one).filter(([, value]) => value !== undefined)),
          }),
        )
        const generations: Ran[][] = []
        for (let depth = 0; depth <= named.length; depth++)
          generations.push(await outcomes(agent, root, options, named.slice(0, depth)))
        // Without a person to say yes an ancestor must have been able to do it by itself.
        for (const [depth, generation] of generations.entries())
          for (const ancestors of generations.slice(0, depth))
            for (const [at, { ran }] of generation.entries())
              if (ran)
                expect(ancestors[at], `probe ${at} at depth ${depth}`).toMatchObject({
                  ran: true,
                  asked: false,
                })
      }),
      { numRuns: 40 },
    )
  }, 120_000)
})
