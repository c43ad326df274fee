import { decide } from '../authority/decide.js'
import type { RuntimeTasks, TaskOutcome, TaskRequest } from '../feature/task.js'
import type { UserMessage } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import type { Subagents } from './feature.js'
import type { SubagentSession } from './options.js'
import { suggestAgents } from './suggest-agents.js'
import { delegatedText } from './task-text.js'

/**
 * Consults the agents that match the prompt, if the host has enabled that, and adds their answers to the prompt. The
 * tasks have the same rules, limits and budget as all others.
 */
export async function withDelegated(
  session: SubagentSession,
  { agents, tasks }: Subagents,
  message: UserMessage,
  signal: AbortSignal,
): Promise<UserMessage> {
  const { autoDelegation = {}, autoParallel } = session.options
  // The first part is the prompt after hooks; what was added to it is not meant for other agents.
  const [first] = message.content
  const text = first?.type === 'text' ? first.text : ''
  const { minConfidence = 0.72, maxTasks = 4 } = autoDelegation
  const chosen = suggestAgents(text, agents.list())
    .filter(({ confidence }) => confidence >= minConfidence)
    .slice(0, maxTasks)
  if (chosen.length === 0 || !(await mayHandOn(session))) return message
  const requests = chosen.map(
    ({ agent }): TaskRequest => ({ agent: agent.name, description: 'asked by itself', prompt: text }),
  )
  const together = (autoParallel ?? true) && (autoDelegation.autoParallel ?? true)
  const outcomes = await perform(session, tasks, requests, together, signal)
  if (outcomes.length === 0) return message
  return { ...message, content: [...message.content, { type: 'text', text: delegatedText(outcomes) }] }
}

/** Applies the rules for the model's own `task` calls; if they would ask, no task is started. */
async function mayHandOn(session: SubagentSession): Promise<boolean> {
  const { authority } = await session.engine.open()
  const { verdict } = decide({ tool: 'task', subjects: [] }, authority.agent())
  if (verdict.action === 'allow') return true
  const why = verdict.reason === undefined ? '' : `: ${verdict.reason}`
  session.emit({
    type: 'notice',
    source: 'autoDelegation',
    message: `No agent was asked first, because the rules do not allow "task"${why}`,
  })
  return false
}

/** Runs the tasks. A task that cannot start is reported, and the run continues without it. */
async function perform(
  session: SubagentSession,
  tasks: RuntimeTasks,
  requests: readonly TaskRequest[],
  together: boolean,
  signal: AbortSignal,
): Promise<readonly TaskOutcome[]> {
  const outcomes: TaskOutcome[] = []
  try {
    if (together) return await tasks.run(requests, { signal })
    for (const request of requests) outcomes.push(...(await tasks.run([request], { signal })))
  } catch (error) {
    session.emit({ type: 'notice', source: 'autoDelegation', message: messageOf(error) })
  }
  return outcomes
}
