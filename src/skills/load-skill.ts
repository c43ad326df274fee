import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import { requireSkills } from './require-skills.js'

/** Puts the text of a skill before the model. */
export const skillTool = builtInTool<{ name: string; reload?: boolean }>({
  name: 'skill',
  description: 'Load the text of a skill, to work by it.',
  kind: 'think',
  idempotent: true,
  parameters: objectSchema({ name: { type: 'string', minLength: 1 }, 'reload?': { type: 'boolean' } }),
  // A skill that was cut is worse than none: it is bounded where it is read.
  limits: { maxBytes: 512 * 1024 },
  async execute({ name, reload = false }, context) {
    const { text, already } = await requireSkills(context).load(name, { reload })
    return outputEnvelope(text, { skill: name, ...(already && { already_loaded: true }) })
  },
})
