import { decide } from '../../authority/decide.js'
import { suggestAgents } from '../../subagents/suggest-agents.js'
import { delegatedText } from '../../subagents/task-text.js'
import type { UserMessage } from '../../tool/completion.js'
import { messageOf } from '../../tool/errors.js'
import type { TaskOutcome, TaskRequest } from '../../tool/runtime.js'
import type { SessionCore } from '../core.js'
import { agentsPart } from './agents.js'
import { tasksPart } from './tasks.js'

/**
 * Asks the agents whose work the prompt sounds like, where the host has switched that on, and puts what they say beside the prompt. The
 * tasks are like any others: under the same rules, limits and budget.
 */
export async function withDelegated(
  core: SessionCore,
  message: UserMessage | undefined,
  signal: AbortSignal,
): Promise<UserMessage | undefined> {
  const { autoDelegation, autoParallel } = core.parts.options
  if (message === undefined || autoDelegation?.enabled !== true) return message
  // What hooks made of the prompt comes first; what else was put beside it is not for others.
  const [first] = message.content
  const text = first?.type === 'text' ? first.text : ''
  const { minConfidence = 0.72, maxTasks = 4 } = autoDelegation
  const chosen = suggestAgents(text, core.part(agentsPart).list())
    .filter(({ confidence }) => confidence >= minConfidence)
    .slice(0, maxTasks)
  if (chosen.length === 0 || !(await mayHandOn(core))) return message
  const requests = chosen.map(
    ({ agent }): TaskRequest => ({ agent: agent.name, description: 'asked by itself', prompt: text }),
  )
  const together = (autoParallel ?? true) && (autoDelegation.autoParallel ?? true)
  const outcomes = await perform(core, requests, together, signal)
  if (outcomes.length === 0) return message
  return { ...message, content: [...message.content, { type: 'text', text: delegatedText(outcomes) }] }
}

/** The same rules hold as when the model hands work on; what they would ask about is nobody's wish yet. */
async function mayHandOn(core: SessionCore): Promise<boolean> {
  const { authority } = await core.engine()
  const { verdict } = decide({ tool: 'task', subjects: [] }, authority.agent())
  if (verdict.action === 'allow') return true
  const why = verdict.reason === undefined ? '' : `: ${verdict.reason}`
  core.emit({
    type: 'notice',
    source: 'autoDelegation',
    message: `No agent was asked first, since the rules do not let "task" pass${why}`,
  })
  return false
}

/** What cannot be begun is told, and the model is asked without it. */
async function perform(
  core: SessionCore,
  requests: readonly TaskRequest[],
  together: boolean,
  signal: AbortSignal,
): Promise<readonly TaskOutcome[]> {
  const tasks = core.part(tasksPart)
  const outcomes: TaskOutcome[] = []
  try {
    if (together) return await tasks.run(requests, { signal })
    for (const request of requests) outcomes.push(...(await tasks.run([request], { signal })))
  } catch (error) {
    core.emit({ type: 'notice', source: 'autoDelegation', message: messageOf(error) })
  }
  return outcomes
}
