import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { GovernedTool, ToolCallContext } from '../../tool/contract.js'
import { createJsonTool } from '../../tool/create-json-tool.js'
import { objectSchema } from '../../tool/object-schema.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { PromptRequest } from './prompt-request.js'

/** Options of an agent that is used as a tool. */
export type AgentToolOptions = {
  name: string
  /** The description that a model reads to decide whether to use this agent (default: the description of the agent). */
  description?: string
  maxTurns?: number
  /** Whether its events are added to the stream of the calling run. */
  stream?: boolean
}

type AskedAgent = {
  readonly id: string
  readonly name?: string
  readonly description?: string
  /** Decides about its calls (default: the handler of the calling run). */
  readonly approvals?: ToolApprovalsOptions
  prompt(text: string): PromptRequest
}

/** An agent as a tool of another one. It ends with the call; its calls that need approval use the caller's handler. */
export function agentTool(
  agent: AskedAgent,
  options: AgentToolOptions,
): GovernedTool<{ prompt: string }, string> {
  return createJsonTool<{ prompt: string }, string>({
    name: options.name,
    description: options.description ?? agent.description ?? `Ask the agent "${agent.name ?? agent.id}".`,
    parameters: objectSchema({ prompt: { type: 'string', description: 'What to ask the agent.' } }),
    async execute({ prompt }, context) {
      const request = requestFor(agent, prompt, options, context)
      if (!options.stream || context.emitStreamEvent === undefined) return (await request.send()).output
      return handOn(agent, request, context)
    },
  })
}

function requestFor(
  agent: AskedAgent,
  prompt: string,
  { maxTurns }: AgentToolOptions,
  { signal, approvals, run }: ToolCallContext,
): PromptRequest {
  const request = agent.prompt(prompt)
  if (maxTurns !== undefined) request.maxTurns(maxTurns)
  if (signal !== undefined) request.withSignal(signal)
  if (run?.metadata !== undefined) request.metadata(run.metadata)
  if (agent.approvals === undefined && approvals !== undefined) request.approvals(approvals)
  return request
}

async function handOn(
  { id, name }: AskedAgent,
  request: PromptRequest,
  context: ToolCallContext,
): Promise<string> {
  let output = ''
  for await (const event of request.stream()) {
    if (event.type === 'final') output = event.output
    await context.emitStreamEvent?.({ agentId: id, ...omitUndefined({ agentName: name }), event })
  }
  return output
}
