import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'

/** Thrown when a file, or an entry of `inlineSkills`, is not a valid skill. */
export class SkillError extends CapstanError {
  constructor(message: string) {
    super('invalid_skill', message)
  }
}

/** Thrown when no skill has the name. */
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
