import type { RuntimeMode } from '../../authority/mode.js'
import type { ToolCallContext } from '../../tool/contract.js'
import { builtInTool } from '../../tool/create-json-tool.js'
import { outputEnvelope } from '../../tool/envelope.js'
import { CapstanError } from '../../tool/errors.js'
import { objectSchema } from '../../tool/object-schema.js'
import { MissingServiceError, requireService } from '../require-service.js'

/** Sets the mode `plan`, which only removes permissions. */
export const planTool = builtInTool<{ reason?: string }>({
  name: 'plan',
  description:
    'Begin to plan: from now on you can look, and change nothing, until the user has approved your plan (plan_exit).',
  kind: 'think',
  parameters: objectSchema({ 'reason?': { type: 'string', maxLength: 2_000 } }),
  async execute(_args, context) {
    const mode = modeOf(context)
    if (mode.name() === 'plan') return outputEnvelope('You are planning already.', { mode: 'plan' })
    if (!mode.canAsk()) throw new CapstanError('plan_no_user', noApprover)
    await mode.enterPlan()
    return outputEnvelope('Look around and make a plan. Then call plan_exit with it.', { mode: 'plan' })
  },
})

/** Shows a plan to the user; an approval ends the mode `plan`. */
export const planExitTool = builtInTool<{ plan: string }>({
  name: 'plan_exit',
  description:
    'Show your finished plan to the user. Approved: planning ends and you carry it out. Rejected: revise it.',
  kind: 'think',
  parameters: objectSchema({ plan: { type: 'string', minLength: 1, maxLength: 100_000 } }),
  // Leaving a mode restores permissions, so a user must decide, regardless of the rules.
  mustAsk: ({ plan }) => `the agent asks to carry out this plan:\n${plan}`,
  async execute(_args, context) {
    const mode = modeOf(context)
    if (mode.name() !== 'plan')
      throw new CapstanError('plan_not_begun', 'You are not planning, so there is no plan mode to end.')
    const next = await mode.leavePlan()
    return outputEnvelope('The user approved the plan. Carry it out now.', { mode: next ?? 'default' })
  },
})

const noApprover = 'No user can approve a plan: this session runs without a user. Continue without plan mode.'

function modeOf(context: ToolCallContext): RuntimeMode {
  const { mode } = requireService(context, 'session')
  if (mode === undefined) throw new MissingServiceError('session.mode')
  return mode
}
