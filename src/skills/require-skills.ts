import type { ToolCallContext } from '../tool/contract.js'
import { MissingServiceError, requireService } from '../toolbox/require-service.js'
import type { RuntimeSkills } from './skill-services.js'

/** Returns the skills of the session that a call belongs to. */
export function requireSkills(context: ToolCallContext): RuntimeSkills {
  const { skills } = requireService(context, 'session')
  if (skills === undefined) throw new MissingServiceError('session.skills')
  return skills
}
