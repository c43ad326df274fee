import { toolsOf } from '../authority/tool-list.js'
import type { TaskAgent } from '../feature/task.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { Skill } from './skill.js'
import { type SkillFiles, skillText } from './skill-text.js'

/**
 * The agent that does a skill by itself: it has the tools that the skill names, may do with them what the skill says,
 * and nothing else. Its permissions are a subset of the caller's.
 */
export function skillAgent(skill: Skill, files?: SkillFiles): TaskAgent {
  const tools = toolsOf(skill.allowedTools)
  return {
    name: `skill:${skill.name}`,
    prompt: skill.kind === 'persona' ? skill.body : `${work}\n\n${skillText(skill, files)}`,
    ...omitUndefined({ tools }),
    permissions: { allow: skill.allowedTools, defaultDecision: 'deny' },
    maxSteps: maxAllowedSteps,
  }
}

const work =
  'You do one piece of work by the skill below. Finish it, and report briefly what you did and what came of it.'
const maxAllowedSteps = 30
