import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'

/** A file, or an entry of `inlineSkills`, that is not a skill. */
export class SkillError extends CapstanError {
  constructor(message: string) {
    super('invalid_skill', message)
  }
}

/** No skill has that name. */
export class SkillNotFoundError extends CapstanError {
  constructor(name: string, known: readonly string[]) {
    const near = nearestNames(name, known)
    const hint = near.length > 0 ? ` Did you mean ${quoteNames(near)}?` : ' Find skills with search_skills.'
    super(
      'skill_not_found',
      `Skill '${name.slice(0, 100)}' not found.${known.length === 0 ? ' There are no skills here.' : hint}`,
    )
  }
}

markErrorClass(SkillError, 'SkillError')
markErrorClass(SkillNotFoundError, 'SkillNotFoundError')
