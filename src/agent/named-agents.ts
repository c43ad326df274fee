import type { PermissionPolicy } from '../authority/policy.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'

/** An agent by name: what it is told, which tools it has and what it may do. */
export type AgentDefinition = {
  readonly name: string
  readonly description: string
  readonly prompt: string
  /** The built-in tools it has. */
  readonly tools: readonly string[]
  readonly permissions: PermissionPolicy
  readonly maxSteps: number
}

/** No agent has that name. */
export class AgentNotFoundError extends CapstanError {
  constructor(name: string, known: readonly string[]) {
    const near = nearestNames(name, known)
    const hint = near.length === 0 ? ` Known are ${known.join(', ')}.` : ` Did you mean ${quoteNames(near)}?`
    super('agent_not_found', `agent '${name}' not found.${hint}`)
  }
}

markErrorClass(AgentNotFoundError, 'AgentNotFoundError')

export function findAgent(name: string): AgentDefinition {
  const wanted = aliases[name] ?? name
  const found = builtinAgents.find((agent) => agent.name === wanted)
  if (found !== undefined) return found
  throw new AgentNotFoundError(
    name,
    builtinAgents.map((agent) => agent.name),
  )
}

const aliases: Readonly<Record<string, string>> = {
  'general-purpose': 'general',
  verify: 'verification',
  verifier: 'verification',
  'code-review': 'review',
  reviewer: 'review',
}

const reading = ['read', 'grep', 'glob', 'ls']
const web = ['web_fetch', 'web_search']
const readOnly: PermissionPolicy = {
  allow: [...reading, ...web],
  deny: ['write', 'edit', 'patch'],
  defaultDecision: 'deny',
}
const lookingCommands = ['ls', 'cat', 'head', 'tail', 'find', 'wc'].map((command) => `bash(${command} *)`)

export const builtinAgents: readonly AgentDefinition[] = [
  {
    name: 'explore',
    description: 'Finds its way through a workspace and reports what is where. Changes nothing.',
    prompt:
      'You explore a workspace. Search broadly, read what matters, and report findings with paths and line numbers. You change nothing.',
    tools: [...reading, ...web, 'bash'],
    permissions: { ...readOnly, allow: [...reading, ...web, ...lookingCommands] },
    maxSteps: 20,
  },
  {
    name: 'general',
    description: 'Works on a task of several steps with the usual tools.',
    prompt:
      'You work on one task that was handed to you. Finish it, check it, and report briefly what you did.',
    tools: [...reading, ...web, 'write', 'edit', 'patch', 'bash', 'git', 'batch', 'todo'],
    permissions: { allow: [...reading, ...web, 'write', 'edit', 'patch', 'bash', 'git', 'batch', 'todo'] },
    maxSteps: 50,
  },
  {
    name: 'plan',
    description: 'Reads, thinks and writes a plan. Changes nothing.',
    prompt:
      'You plan. Read what you need, then give numbered steps with the files each one touches, the risks, and how to check it. You change nothing.',
    tools: [...reading, ...web, 'todo'],
    permissions: readOnly,
    maxSteps: 30,
  },
  {
    name: 'verification',
    description: 'Checks whether something works, by running it. Changes no files.',
    prompt:
      'You verify. Run the checks that would show the claim to be wrong, and report for each what you ran and what came out. You change no files.',
    tools: [...reading, ...web, 'bash', 'git'],
    permissions: { ...readOnly, allow: [...reading, ...web, 'bash', 'git'] },
    maxSteps: 30,
  },
  {
    name: 'review',
    description: 'Reviews a change for defects. Changes nothing.',
    prompt:
      'You review. Look for defects first: wrong behaviour, lost data, security, missing tests. Name file and line for each, most serious first. You change nothing.',
    tools: [...reading, 'git'],
    // Git may look without a rule; whatever it changes is denied.
    permissions: { ...readOnly, allow: reading },
    maxSteps: 25,
  },
]
