import { gitReads } from '../authority/default-rules.js'
import type { PermissionPolicy } from '../authority/policy.js'
import {
  type AgentDefinition,
  AgentNotFoundError,
  agentNamed,
  type UnreadAgent,
} from '../subagents/agent-definition.js'

export type { AgentDefinition }
export { AgentNotFoundError }

/** Finds an agent by name: first the given ones, then the built-in ones. Throws {@link AgentNotFoundError}. */
export function findAgent(
  name: string,
  extra: readonly AgentDefinition[] = [],
  unread: readonly UnreadAgent[] = [],
): AgentDefinition {
  return agentNamed(name, [...extra, ...builtinAgents], unread)
}

const reading = ['read', 'grep', 'glob', 'ls']
const web = ['web_fetch', 'web_search']
const working = ['write', 'edit', 'patch', 'bash', 'git', 'batch', 'generate_object', 'todo']
/** Tools for skills, which every built-in agent has. */
const skillTools = ['search_skills', 'skill']
/** Built-in agents do not start subagents. */
const delegationTools = ['task', 'parallel_task']
const readOnly: PermissionPolicy = {
  allow: [...reading, ...web],
  // Commands can also write files: with a redirection, or with programs such as `tee` and `cp`.
  deny: ['write', 'edit', 'patch', 'fs.write(/**)', ...delegationTools],
  defaultDecision: 'deny',
}
const lookingCommands = ['ls', 'cat', 'head', 'tail', 'find', 'wc'].map((command) => `bash(${command} *)`)

/** A definition with all fields that built-in agents need. */
type WholeDefinition = AgentDefinition & Required<Pick<AgentDefinition, 'tools' | 'permissions' | 'maxSteps'>>

/** The agents that every session can delegate to without configuration. */
export const builtinAgents: readonly WholeDefinition[] = [
  {
    name: 'explore',
    description: 'Explores a workspace and reports what is where. Changes nothing.',
    prompt:
      'You explore a workspace. Search broadly, read what matters, and report findings with paths and line numbers. You change nothing.',
    tools: [...reading, ...web, 'bash', ...skillTools],
    permissions: { ...readOnly, allow: [...reading, ...web, ...lookingCommands] },
    maxSteps: 20,
    caller: 'agent',
  },
  {
    name: 'general',
    aliases: ['general-purpose'],
    description: 'Works on a task of several steps with the usual tools.',
    prompt:
      'You work on one task that was handed to you. Finish it, check it, and report briefly what you did.',
    tools: [...reading, ...web, ...working, ...skillTools],
    permissions: { allow: [...reading, ...web, ...working], deny: delegationTools },
    maxSteps: 50,
    caller: 'agent',
  },
  {
    name: 'plan',
    description: 'Reads, thinks and writes a plan. Changes nothing.',
    prompt:
      'You plan. Read what you need, then give numbered steps with the files each one touches, the risks, and how to check it. You change nothing.',
    tools: [...reading, ...web, 'todo', ...skillTools],
    permissions: readOnly,
    maxSteps: 30,
    caller: 'agent',
  },
  {
    name: 'verification',
    aliases: ['verify', 'verifier'],
    description: 'Checks whether something works, by running it. Changes no files.',
    prompt:
      'You verify. Run the checks that would show the claim to be wrong, and report for each what you ran and what came out. You change no files.',
    tools: [...reading, ...web, 'bash', 'git', ...skillTools],
    permissions: { ...readOnly, allow: [...reading, ...web, 'bash', 'git'] },
    maxSteps: 30,
    caller: 'agent',
  },
  {
    name: 'review',
    aliases: ['code-review', 'reviewer'],
    description: 'Reviews a change for defects. Changes nothing.',
    prompt:
      'You review. Look for defects first: wrong behaviour, lost data, security, missing tests. Name file and line for each, most serious first. You change nothing.',
    tools: [...reading, 'git', ...skillTools],
    permissions: { ...readOnly, allow: [...reading, ...gitReads.map((command) => `git(git ${command}*)`)] },
    maxSteps: 25,
    caller: 'agent',
  },
]
