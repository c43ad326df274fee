import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import { requireSkills } from './require-skills.js'

/** Finds skills by what they are about. */
export const searchSkillsTool = builtInTool<{ query: string; limit?: number }>({
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
