/**
 * SEC-231, SEC-232: over random policies, modes and trees of subagents, nothing reaches what an ancestor may not do.
 * What each session of a tree may is taken from its own gate, with real sessions and calls; the judgement of the root
 * is the measure.
 */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { SessionOptions } from '../../../src/session/options.js'
import { kernelOf } from '../../../src/session/session-class.js'
import type { AgentDefinition } from '../../../src/subagents/agent-definition.js'
import { subagentsFeature } from '../../../src/subagents/feature.js'
import { makeWorkspace, whenDone } from '../../contract/open-session.js'
import { byPrompt, call } from '../../contract/subagents.js'
import { propertyRuns } from '../../support/property-runs.js'
import { callProbes, expectNoMore, modes, policies, probedFiles, probeWatch, type Ran } from './probes.js'

const toolNames = ['read', 'write', 'bash', 'task']
const tree = fc.record({
  root: policies,
  mode: modes,
  agents: fc.array(
    fc.record({
      permissions: fc.option(policies, { nil: undefined }),
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

/**
 * What becomes of every probe in the session that these agents lead to: handed from one to the next, the last one
 * calls.
 */
async function outcomes(
  agent: Agent,
  workspace: string,
  options: SessionOptions,
  agents: readonly AgentDefinition[],
): Promise<Ran[]> {
  const model = byPrompt(({ prompt, turn, request }) => {
    const level = Number(prompt.split(' ')[1])
    if (turn > 0) return 'done'
    if (level < agents.length)
      return call('task', { agent: `agent${level}`, prompt: `level ${level + 1}` }, `hand-${level}`)
    return callProbes(request)
  })
  const watched = probeWatch(['task'])
  const session = agent.session(workspace, { ...options, model, sandbox: 'off', onAsk: watched.onAsk })
  for (const definition of agents) kernelOf(session).use(subagentsFeature).agents.add(definition)
  watched.watch(session)
  await session.send('level 0')
  await session.close()
  return watched.outcomes()
}

describe('authority of subagents', () => {
  it('never exceeds that of any ancestor: a deny of an ancestor denies, and an ask is asked', async () => {
    const { root, userDir } = await makeWorkspace(probedFiles)
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
        for (const [depth, generation] of generations.entries())
          for (const ancestors of generations.slice(0, depth))
            expectNoMore(generation, ancestors, `at depth ${depth}`)
      }),
      { numRuns: propertyRuns(40) },
    )
  })
})
