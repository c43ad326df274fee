import type { Skill, SkillInfo } from '../skill.js'
import { findCause } from './find-cause.js'
import { reviewChange } from './review-change.js'
import { writeSkill } from './write-skill.js'

/** Skills that come with the package. */
export const packageSkills: readonly Skill[] = [reviewChange, findCause, writeSkill]

/** Returns the skills that `builtinSkills: true` adds to a session. */
export function builtinSkills(): SkillInfo[] {
  return packageSkills.map(({ body: _, ...info }) => info)
}
