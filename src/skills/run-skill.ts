import { builtInTool } from '../tool/create-json-tool.js'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { MissingServiceError, requireService } from '../toolbox/require-service.js'
import { requireSkills } from './require-skills.js'

const text = { type: 'string' } as const

/** Runs a skill as a separate agent, which has only the tools that the skill names. */
export const runSkillTool = builtInTool<{
  skill_name?: string
  name?: string
  skillName?: string
  prompt?: string
}>({
  name: 'Skill',
  description:
    'Have a skill done by an agent of its own, with only the tools that the skill names. It sees your prompt, not this conversation.',
  kind: 'other',
  // It is a task and has the time limit of one.
  ownTime: true,
  parameters: {
    type: 'object',
    // The second and third are names that other systems use for the first.
    properties: { skill_name: text, name: text, skillName: text, prompt: text },
    additionalProperties: false,
  },
  async execute({ skill_name, name: other, skillName, prompt }, context) {
    const name = skill_name ?? other ?? skillName
    if (name === undefined) return errorEnvelope('Name the skill in skill_name.')
    const { tasks } = requireService(context, 'session')
    if (tasks === undefined) throw new MissingServiceError('session.tasks')
    const skills = requireSkills(context)
    const agent = await skills.agent(name)
    const [outcome] = await tasks
      .run(
        [{ agent, description: `skill ${name}`, prompt: prompt ?? `Do what the skill ${name} says.` }],
        context.signal === undefined ? {} : { signal: context.signal },
      )
      .finally(() => skills.ended(name))
    if (outcome === undefined) return errorEnvelope(`The skill '${name}' gave no outcome.`)
    const { taskId, sessionId, output, success, error, counters } = outcome
    const metadata = {
      skill: name,
      task_id: taskId,
      session_id: sessionId,
      rounds: counters.rounds,
      tool_calls: counters.toolCalls,
      total_tokens: counters.totalTokens,
    }
    if (success) return outputEnvelope(output, metadata)
    return errorEnvelope(
      `The skill '${name}' was not finished: ${error ?? 'no reason was given'}${output === '' ? '' : `\nIts last words:\n${output}`}`,
      metadata,
    )
  },
})
