import type { ToolCallContext } from '../tool/contract.js'
import type { RuntimeSkills } from '../tool/runtime.js'
import { lentPart, RuntimePartError } from '../toolbox/lent-part.js'

/** The skills of the session that a call belongs to. */
export function lentSkills(context: ToolCallContext): RuntimeSkills {
  const { skills } = lentPart(context, 'session')
  if (skills === undefined) throw new RuntimePartError('session.skills')
  return skills
}
