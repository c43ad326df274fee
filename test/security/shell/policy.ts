import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import { byPrompt, call } from '../../contract/subagents.js'
import { sharedDirectory } from '../../support/temporary-directory.js'
import { p0 } from '../rules/p0.js'

export type Decision = 'allow' | 'ask' | 'deny' | 'error'

/** A policy for commands: patterns of commands, and of files that must not be read. */
export function policy(patterns: {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}): PermissionPolicy {
  const rules = (texts: readonly string[] = []): string[] => texts.map((text) => `bash(${text})`)
  return { allow: rules(patterns.allow), deny: rules(patterns.deny) }
}

/**
 * Returns a function that says what a session with a policy makes of a command that its model wants to run. Nothing
 * runs: whatever the rules let through is stopped by the budget guard, which is asked last. For the top level of a test
 * file, whose tests share an agent and a workspace, and a session for each policy: opening them takes longer than a
 * decision. Decisions are made one after the other.
 */
export function sharedDecide(): (command: string, permissionPolicy?: PermissionPolicy) => Promise<Decision> {
  const place = sharedDirectory()
  const [root, userDir] = [join(place, 'workspace'), join(place, 'user')]
  let agent: Agent
  let known = new Map<string, Decider>()
  beforeAll(async () => {
    for (const path of [root, userDir]) mkdirSync(path)
    agent = await Agent.create({}, { userDir, env: {} })
  })
  afterAll(() => agent.close())
  return async (command, permissionPolicy = p0) => {
    const key = JSON.stringify(permissionPolicy)
    const decider = known.get(key) ?? openDecider(agent, root, permissionPolicy)
    const decision = await decider.decide(command)
    // A model reads its whole history again with each command.
    if (decider.decisions() < maxDecisions && command.length < maxLength) known.set(key, decider)
    else {
      known.delete(key)
      await decider.close()
    }
    if (known.size <= maxSessions) return decision
    const old = [...known.values()]
    known = new Map()
    for (const each of old) await each.close()
    return decision
  }
}

const maxDecisions = 20
const maxLength = 1000
const maxSessions = 20

type Decider = {
  decide(command: string): Promise<Decision>
  decisions(): number
  close(): Promise<void>
}

function openDecider(agent: Agent, root: string, permissionPolicy: PermissionPolicy): Decider {
  let command = ''
  let count = 0
  let decision: Decision | undefined
  const session = agent.session(root, {
    sandbox: 'off',
    permissionPolicy,
    model: byPrompt(({ turn, results }) =>
      turn === 0 ? call('bash', { command }) : `result: ${results.join('\n')}`,
    ),
    onAsk: () => {
      decision = 'ask'
      return { decision: 'reject' }
    },
    budgetGuard: {
      checkBeforeTool: () => {
        decision = 'allow'
        return { decision: 'deny', reason: 'nothing is to run' }
      },
    },
  })
  return {
    async decide(next) {
      command = next
      count++
      decision = undefined
      const { text } = await session.send('run it')
      if (decision !== undefined) return decision
      if (text.includes('can never run')) return 'error'
      // Nothing else may look like a denial, such as a limit of the session.
      if (!/denied by the rule|Refused by the watchdog/.test(text))
        throw new Error(`no rule has decided: ${text}`)
      return 'deny'
    },
    decisions: () => count,
    close: () => session.close(),
  }
}
