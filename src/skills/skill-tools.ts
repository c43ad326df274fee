import type { AnyGovernedTool } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { withoutOutputMiddleware } from '../tool/middleware.js'
import { objectSchema } from '../tool/object-schema.js'
import { requireSkills } from './require-skills.js'
import { runSkillTool } from './run-skill.js'

/** Loads the text of a skill into the conversation. */
const skillTool = builtInTool<{ name: string; reload?: boolean }>({
  name: 'skill',
  description: 'Load the text of a skill, to work by it.',
  kind: 'think',
  idempotent: true,
  parameters: objectSchema({ name: { type: 'string', minLength: 1 }, 'reload?': { type: 'boolean' } }),
  // A truncated skill is worse than none, so the text is limited where it is read.
  limits: { maxBytes: 512 * 1024 },
  async execute({ name, reload = false }, context) {
    const { text, already } = await requireSkills(context).load(name, { reload })
    return outputEnvelope(text, { skill: name, ...(already && { already_loaded: true }) })
  },
})

/** Finds skills by topic. */
const searchSkillsTool = builtInTool<{ query: string; limit?: number }>({
  name: 'search_skills',
  description: 'Find skills by what they are about.',
  kind: 'search',
  idempotent: true,
  parameters: objectSchema({
    query: { type: 'string', minLength: 1, maxLength: 2_000 },
    'limit?': { type: 'integer', minimum: 1, maximum: 20, default: 5 },
  }),
  async execute({ query, limit = 5 }, context) {
    const { found, total } = await requireSkills(context).search(query, limit)
    const metadata = { count: found.length, total, skills: found.map(({ name }) => name) }
    if (found.length === 0)
      return outputEnvelope(
        `No matching skills found among ${total}. Try other words, or continue with the tools you have.`,
        metadata,
      )
    const lines = found.map(
      ({ name, kind, description, allowedTools }) =>
        `- ${name} (${kind}): ${description}${allowedTools.length === 0 ? '' : ` Allowed tools: ${allowedTools.join(', ')}`}`,
    )
    return outputEnvelope(
      [
        `Found ${found.length} matching skill(s). Load one with skill, or have it done apart from you with Skill.`,
        ...lines,
      ].join('\n'),
      metadata,
    )
  },
})

/**
 * The tools for skills, in the order in which a model sees them; the host's output middleware does not apply to them.
 */
export const skillTools: readonly AnyGovernedTool[] = [skillTool, searchSkillsTool, runSkillTool].map(
  (tool) => withoutOutputMiddleware(tool as AnyGovernedTool),
)
