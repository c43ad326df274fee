import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { Session } from '../../../src/session/session.js'
import { byPrompt, call, open } from '../../contract/subagents.js'
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
 * What a session with this policy makes of a command that its model wants to run. Nothing runs: whatever the rules let
 * through is stopped by the budget guard, which is asked last.
 */
export async function decide(command: string, permissionPolicy: PermissionPolicy = p0): Promise<Decision> {
  let decision: Decision | undefined
  const { session } = await open({
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

async function answerOf(session: Session): Promise<string> {
  try {
    return (await session.send('run it')).text
  } finally {
    await session.close()
  }
}
