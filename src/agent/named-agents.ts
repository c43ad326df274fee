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

/** The agent of this name: of those given first, then of those that are always there. Throws {@link AgentNotFoundError}. */
export function findAgent(
  name: string,
  extra: readonly AgentDefinition[] = [],
  unread: readonly UnreadAgent[] = [],
): AgentDefinition {
  return agentNamed(name, [...extra, ...builtinAgents], unread)
}

const reading = ['read', 'grep', 'glob', 'ls']
const web = ['web_fetch', 'web_search']
/** How work is done here, all of them may look up. */
const knowing = ['search_skills', 'skill']
/** None of them hands on what was handed to it. */
const handing = ['task', 'parallel_task']
const readOnly: PermissionPolicy = {
  allow: [...reading, ...web],
  // A command may write as well: by a redirection, or as `tee` and `cp` do.
  deny: ['write', 'edit', 'patch', 'fs.write(/**)', ...handing],
  defaultDecision: 'deny',
}
const lookingCommands = ['ls', 'cat', 'head', 'tail', 'find', 'wc'].map((command) => `bash(${command} *)`)

/** One that says everything about itself. */
type WholeDefinition = AgentDefinition & Required<Pick<AgentDefinition, 'tools' | 'permissions' | 'maxSteps'>>

export const builtinAgents: readonly WholeDefinition[] = [
  {
    name: 'explore',
    description: 'Finds its way through a workspace and reports what is where. Changes nothing.',
    prompt:
      'You explore a workspace. Search broadly, read what matters, and report findings with paths and line numbers. You change nothing.',
    tools: [...reading, ...web, 'bash', ...knowing],
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
    tools: [
      ...reading,
      ...web,
      'write',
      'edit',
      'patch',
      'bash',
      'git',
      'batch',
      'generate_object',
      'todo',
      ...knowing,
    ],
    permissions: {
      allow: [
        ...reading,
        ...web,
        'write',
        'edit',
        'patch',
        'bash',
        'git',
        'batch',
        'generate_object',
        'todo',
      ],
      deny: handing,
    },
    maxSteps: 50,
    caller: 'agent',
  },
  {
    name: 'plan',
    description: 'Reads, thinks and writes a plan. Changes nothing.',
    prompt:
      'You plan. Read what you need, then give numbered steps with the files each one touches, the risks, and how to check it. You change nothing.',
    tools: [...reading, ...web, 'todo', ...knowing],
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
    tools: [...reading, ...web, 'bash', 'git', ...knowing],
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
    tools: [...reading, 'git', ...knowing],
    permissions: { ...readOnly, allow: [...reading, ...gitReads.map((command) => `git(git ${command}*)`)] },
    maxSteps: 25,
    caller: 'agent',
  },
]
