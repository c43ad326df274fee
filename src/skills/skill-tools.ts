import type { AnyGovernedTool } from '../tool/contract.js'
import { withoutOutputMiddleware } from '../tool/middleware.js'
import { skillTool } from './load-skill.js'
import { runSkillTool } from './run-skill.js'
import { searchSkillsTool } from './search-skills.js'

/**
 * The tools for skills, in the order in which a model sees them. A host's output middleware does not see their results.
 */
export const skillTools: readonly AnyGovernedTool[] = [skillTool, searchSkillsTool, runSkillTool].map(
  (tool) => withoutOutputMiddleware(tool as AnyGovernedTool),
)
