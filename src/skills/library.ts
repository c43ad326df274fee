import { SkillNotFoundError } from './errors.js'
import type { Skill } from './skill.js'
import { createSkillIndex, type SkillIndex } from './skill-index.js'

/** The skills of a session: the same from its beginning to its end. */
export class SkillLibrary {
  /** In the order in which they count. */
  readonly skills: readonly Skill[]
  /** Files that could not be read and names that were taken, a sentence each. */
  readonly problems: readonly string[]
  readonly #byName: ReadonlyMap<string, Skill>
  #index: Promise<SkillIndex> | undefined

  constructor(skills: readonly Skill[], problems: readonly string[]) {
    this.skills = skills
    this.problems = problems
    this.#byName = new Map(skills.map((skill) => [skill.name, skill]))
  }

  /** The skills that models are shown. */
  forModels(): readonly Skill[] {
    return this.skills.filter(({ forModels }) => forModels)
  }

  /** Throws {@link SkillNotFoundError}. What is not for models is not there for them. */
  get(name: string, forModel = false): Skill {
    const skill = this.#byName.get(name)
    if (skill !== undefined && (skill.forModels || !forModel)) return skill
    const known = forModel ? this.forModels() : this.skills
    throw new SkillNotFoundError(
      name,
      known.map((one) => one.name),
    )
  }

  /** The best first. The index is made with the first search. */
  async search(query: string, limit: number, forModel = false): Promise<readonly Skill[]> {
    this.#index ??= createSkillIndex(this.skills)
    const found = (await this.#index).search(query, forModel ? this.skills.length : limit)
    return (forModel ? found.filter(({ forModels }) => forModels) : found).slice(0, limit)
  }
}
