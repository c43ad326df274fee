import type { Skill } from '../skill.js'
import { findCause } from './find-cause.js'
import { reviewChange } from './review-change.js'
import { writeSkill } from './write-skill.js'

/** Skills that come with the package. */
export const builtinSkills: readonly Skill[] = [reviewChange, findCause, writeSkill]
