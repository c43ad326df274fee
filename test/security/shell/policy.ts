import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { Session } from '../../../src/session/session.js'
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
 * file, whose tests share an agent and a workspace: opening them takes longer than a decision.
 */
export function sharedDecide(): (command: string, permissionPolicy?: PermissionPolicy) => Promise<Decision> {
  const place = sharedDirectory()
  const [root, userDir] = [join(place, 'workspace'), join(place, 'user')]
  let agent: Agent
  beforeAll(async () => {
    for (const path of [root, userDir]) mkdirSync(path)
    agent = await Agent.create({}, { userDir, env: {} })
  })
  afterAll(() => agent.close())
  return async (command, permissionPolicy = p0) => {
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
    const text = await answerOf(session)
    return decision ?? (text.includes('can never run') ? 'error' : 'deny')
  }
}

async function answerOf(session: Session): Promise<string> {
  try {
    return (await session.send('run it')).text
  } finally {
    await session.close()
  }
}
