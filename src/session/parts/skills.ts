import { relative, resolve } from 'node:path'
import { SkillLibrary } from '../../skills/library.js'
import { type SkillPlaces, skillDirectories } from '../../skills/places.js'
import type { Skill, SkillInfo } from '../../skills/skill.js'
import { skillAgent } from '../../skills/skill-agent.js'
import { skillSection } from '../../skills/skill-section.js'
import { hasSkillText, type SkillFiles, skillText } from '../../skills/skill-text.js'
import type { RuntimeSkills } from '../../tool/runtime.js'
import { isInside } from '../../workspace/inside.js'
import type { SessionCore } from '../core.js'
import type { SessionPart } from '../part.js'

/** The skills of a session, found when they are first needed and the same from then on. */
export const skillsPart: SessionPart<SessionSkills> = {
  name: 'skills',
  make: (core) => new SessionSkills(core),
}

/** What the model is told of skills. Where there are any, it has the tools for them from here on. */
export async function skillsSection(core: SessionCore): Promise<string[]> {
  if (core.shelf.get('skill') === undefined) return []
  const library = await core.part(skillsPart).library()
  for (const message of library.problems) core.emit({ type: 'notice', source: 'skills', message })
  const section = skillSection(library.forModels())
  if (section === undefined) return []
  core.shelf.offer(['skill', 'search_skills', 'Skill'])
  return [section]
}

export class SessionSkills {
  readonly #core: SessionCore
  #library: Promise<SkillLibrary> | undefined
  /** What lies beside skills that are not in the workspace, in the scratch directory. */
  readonly #copies = new Map<string, Promise<SkillFiles>>()

  constructor(core: SessionCore) {
    this.#core = core
  }

  library(): Promise<SkillLibrary> {
    this.#library ??= openLibrary(placesOf(this.#core)).catch((error: unknown) => {
      this.#library = undefined
      throw error
    })
    return this.#library
  }

  async list(): Promise<SkillInfo[]> {
    const { skills } = await this.library()
    return skills.map(({ body: _, ...info }) => info)
  }

  /** For one call: a host sees also what is not for models. */
  servicesFor(origin: string): RuntimeSkills {
    const forModel = origin !== 'host'
    const named = async (name: string): Promise<Skill> => (await this.library()).get(name, forModel)
    return {
      search: async (query, limit) => {
        const library = await this.library()
        const total = (forModel ? library.forModels() : library.skills).length
        return { found: await library.search(query, limit, forModel), total }
      },
      load: async (name, { reload = false } = {}) => {
        const skill = await named(name)
        if (forModel && !reload && this.#isThere(skill))
          return { text: `The skill "${name}" is loaded already: its text stands above.`, already: true }
        return { text: skillText(skill, await this.#beside(skill)), already: false }
      },
      agent: async (name) => {
        const skill = await named(name)
        return skillAgent(skill, await this.#beside(skill))
      },
    }
  }

  /** Whether the model has the text before it: not so once it was summarised, or rewound. */
  #isThere({ name }: Skill): boolean {
    return this.#core.conversation.view.some(
      (message) =>
        message.role === 'tool' &&
        message.content.some(
          ({ toolName, content }) =>
            toolName === 'skill' &&
            content.some((part) => part.type === 'text' && hasSkillText(part.text, name)),
        ),
    )
  }

  /** Its other files, where the tools of this session reach them. What is not in the workspace is copied: nobody changes the skill. */
  async #beside(skill: Skill): Promise<SkillFiles | undefined> {
    const { folder, name } = skill
    if (folder === undefined) return undefined
    const { workspace } = await this.#core.engine()
    if (isInside(workspace.root, folder))
      return { directory: relative(workspace.root, folder), files: [], notes: [] }
    const known = this.#copies.get(name)
    const copied =
      known ??
      workspace.scratch
        .copy(name, folder)
        .then(({ path, files, notes }) => ({ directory: path, files, notes }))
    this.#copies.set(name, copied)
    copied.catch(() => this.#copies.delete(name))
    return copied
  }
}

function placesOf({ parts }: SessionCore): SkillPlaces {
  const { options, root, userDir } = parts
  return {
    ...(options.inlineSkills !== undefined && { inline: options.inlineSkills }),
    ...(options.skillDirs !== undefined && { directories: options.skillDirs.map((path) => resolve(root, path)) }),
    ...(options.builtinSkills !== undefined && { builtin: options.builtinSkills }),
    ...(options.discoverSkills !== false && { root, userDir }),
  }
}

/** A session without skills pays for a look at the places where they could be, and loads nothing. */
async function openLibrary(places: SkillPlaces): Promise<SkillLibrary> {
  const { inline = [], directories = [], builtin = false } = places
  const given = inline.length > 0 || directories.length > 0 || builtin
  if (!given && skillDirectories(places).length === 0) return new SkillLibrary([], [])
  const { openSkillLibrary } = await import('../../skills/open-library.js')
  return openSkillLibrary(places)
}
