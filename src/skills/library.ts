import { SkillNotFoundError } from './errors.js'
import type { Skill } from './skill.js'
import { createSkillIndex, type SkillIndex } from './skill-index.js'

/** The skills of a session. They do not change while the session is open. */
export class SkillLibrary {
  /** In order of precedence. */
  readonly skills: readonly Skill[]
  /** The problems: unreadable files and duplicate names, one sentence each. */
  readonly problems: readonly string[]
  readonly #byName: ReadonlyMap<string, Skill>
  #index: Promise<SkillIndex> | undefined

  constructor(skills: readonly Skill[], problems: readonly string[]) {
    this.skills = skills
    this.problems = problems
    this.#byName = new Map(skills.map((skill) => [skill.name, skill]))
  }

  /** Returns the skills that are shown to models. */
  forModels(): readonly Skill[] {
    return this.skills.filter(({ forModels }) => forModels)
  }

  /**
   * Returns the skill of this name. Throws {@link SkillNotFoundError}; with `forModel`, also for a skill that is
   * hidden from models.
   */
  get(name: string, forModel = false): Skill {
    const skill = this.#byName.get(name)
    if (skill !== undefined && (skill.forModels || !forModel)) return skill
    const known = forModel ? this.forModels() : this.skills
    throw new SkillNotFoundError(
      name,
      known.map((one) => one.name),
    )
  }

  /** Returns the matching skills, best first. The index is created with the first search. */
  async search(query: string, limit: number, forModel = false): Promise<readonly Skill[]> {
    this.#index ??= createSkillIndex(this.skills)
    const found = (await this.#index).search(query, forModel ? this.skills.length : limit)
    return (forModel ? found.filter(({ forModels }) => forModels) : found).slice(0, limit)
  }
}
