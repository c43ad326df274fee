import { relative, resolve } from 'node:path'
import { toolsOf } from '../../authority/tool-list.js'
import { attachedFiles, isAttached } from '../../skills/attached-files.js'
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
import { SingleFlight } from '../single-flight.js'

/** The skills of a session, found when they are first needed and the same from then on. */
export const skillsPart: SessionPart<SessionSkills> = {
  name: 'skills',
  make: (core) => new SessionSkills(core),
}

/** Looks for them where the model will be told of them. */
export async function lookForSkills(core: SessionCore): Promise<void> {
  if (core.shelf.get('skill') !== undefined) await core.part(skillsPart).library()
}

/** What the model is told of skills. Where there are any, it has the tools for them from here on. */
export async function skillsSection(core: SessionCore): Promise<string[]> {
  if (core.shelf.get('skill') === undefined) return []
  const library = await core.part(skillsPart).library()
  // Of a subagent, whoever is told was told by its parent.
  if (core.parts.parent === undefined)
    for (const message of library.problems) core.emit({ type: 'notice', source: 'skills', message })
  const section = skillSection(library.forModels())
  if (section === undefined) return []
  core.shelf.offer(['skill', 'search_skills', 'Skill'])
  return [section]
}

class SessionSkills {
  readonly #core: SessionCore
  #library: Promise<SkillLibrary> | undefined
  /** What lies beside skills that are not in the workspace, in the scratch directory. */
  #copies: Map<string, Promise<SkillFiles>> | undefined

  constructor(core: SessionCore) {
    this.#core = core
  }

  library(): Promise<SkillLibrary> {
    this.#library ??= libraryAt(placesOf(this.#core)).catch((error: unknown) => {
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
        const text = skillText(skill, await this.#beside(skill))
        await this.#tellLoaded(skill)
        return { text, already: false }
      },
      agent: async (name) => {
        const skill = await named(name)
        const agent = skillAgent(skill, await this.#beside(skill))
        await this.#tellLoaded(skill)
        return agent
      },
      ended: async (name) => {
        const { hooks } = this.#core
        if (hooks.has('skill_unload')) await hooks.run('skill_unload', { skill_name: name })
      },
    }
  }

  async #tellLoaded({ name, allowedTools, version, description }: Skill): Promise<void> {
    const { hooks, now } = this.#core
    if (!hooks.has('skill_load')) return
    await hooks.run('skill_load', {
      skill_name: name,
      tool_names: toolsOf(allowedTools) ?? ['*'],
      description,
      loaded_at: now(),
      ...(version !== undefined && { version }),
    })
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
  async #beside({ folder, name }: Skill): Promise<SkillFiles | undefined> {
    if (folder === undefined) return undefined
    const { root } = this.#core.parts
    const beside = attachedFiles(folder)
    if (beside.length === 0) return undefined
    if (isInside(root, folder)) return { directory: relative(root, folder), files: beside, notes: [] }
    this.#copies ??= new Map()
    const copies = this.#copies
    const copied = copies.get(name) ?? this.#copy(name, folder)
    copies.set(name, copied)
    copied.catch(() => copies.delete(name))
    return copied
  }

  async #copy(name: string, folder: string): Promise<SkillFiles> {
    const { workspace } = await this.#core.engine()
    const { path, files, notes } = await workspace.scratch.copy(name, folder)
    return { directory: path, files: files.filter(isAttached), notes }
  }
}

function placesOf({ parts }: SessionCore): SkillPlaces {
  const { options, root, userDir } = parts
  return {
    ...(options.inlineSkills !== undefined && { inline: options.inlineSkills }),
    ...(options.skillDirs !== undefined && {
      directories: options.skillDirs.map((path) => resolve(root, path)),
    }),
    ...(options.builtinSkills !== undefined && { builtin: options.builtinSkills }),
    ...(options.discoverSkills !== false && { root, userDir }),
  }
}

/** Shared by all sessions that have none. */
const noSkills = new SkillLibrary([], [])

const libraries = new SingleFlight<SkillLibrary>()

/** What a host hands over itself is its session's own. */
function libraryAt(places: SkillPlaces): Promise<SkillLibrary> {
  return places.inline === undefined
    ? libraries.ask(JSON.stringify(places), () => openLibrary(places))
    : openLibrary(places)
}

/** A session without skills pays for a look at the places where they could be, and loads nothing. */
async function openLibrary(places: SkillPlaces): Promise<SkillLibrary> {
  const { inline = [], directories = [], builtin = false } = places
  const given = inline.length > 0 || directories.length > 0 || builtin
  if (!given && skillDirectories(places).length === 0) return noSkills
  const { openSkillLibrary } = await import('../../skills/open-library.js')
  return openSkillLibrary(places)
}
