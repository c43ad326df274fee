import { relative, resolve } from 'node:path'
import { toolsOf } from '../authority/tool-list.js'
import type { FeatureContext } from '../feature/feature-context.js'
import { type Check, each, either, fields, is, oneOf, strings } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { SingleFlight } from '../feature/single-flight.js'
import type { TaskAgent } from '../feature/task.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { isInside } from '../workspace/inside.js'
import { attachedFiles, isAttached } from './attached-files.js'
import { SkillLibrary } from './library.js'
import { type SkillPlaces, skillDirectories } from './places.js'
import { type InlineSkill, type Skill, type SkillInfo, skillKinds } from './skill.js'
import { skillSection } from './skill-section.js'
import type { RuntimeSkills } from './skill-services.js'
import { hasSkillText, type SkillFiles, skillText } from './skill-text.js'
import { skillTools } from './skill-tools.js'

export type SkillFeatureOptions = {
  /** Directories with skills in them. */
  readonly skillDirs?: readonly string[]
  readonly inlineSkills?: readonly InlineSkill[]
  /** Adds the skills that come with the package. */
  readonly builtinSkills?: boolean
  /** False: skills of the project and of the user are not discovered. */
  readonly discoverSkills?: boolean
}

type SkillSession = FeatureContext<SkillFeatureOptions>

const inlineSkillFields = fields({
  name: is('string'),
  kind: oneOf(...skillKinds),
  description: is('string'),
  tags: strings,
  allowedTools: either(is('string'), strings),
  content: is('string'),
})
const inlineSkill: Check = (value) => {
  const missing = ['name', 'content'].find((name) => isRecord(value) && value[name] === undefined)
  return inlineSkillFields(value) ?? (missing === undefined ? undefined : `%.${missing} is missing.`)
}

/** Lists skills in the system prompt and loads them on demand. They are discovered once, at their first use. */
export const skillsFeature: SessionFeature<SessionSkills, SkillFeatureOptions> = {
  name: 'skills',
  create: (session) => new SessionSkills(session),
  options: {
    skillDirs: strings,
    inlineSkills: each(inlineSkill),
    builtinSkills: is('boolean'),
    discoverSkills: is('boolean'),
  },
  tools: () => skillTools,
  dormantTools: () => skillTools,
  async findPromptSources(session) {
    if (hasSkillTool(session)) await session.use(skillsFeature).library()
  },
  /** If there are skills, their tools are offered to the model from here on. */
  async promptSection(session) {
    if (!hasSkillTool(session)) return undefined
    const library = await session.use(skillsFeature).library()
    // The parent of a subagent has already reported them.
    if (session.parent === undefined)
      for (const message of library.problems) session.emit({ type: 'notice', source: 'skills', message })
    const section = skillSection(library.forModels())
    if (section !== undefined) session.tools.offer(['skill', 'search_skills', 'Skill'])
    return section
  },
  services: {
    skills: (session, { request }) => session.use(skillsFeature).servicesFor(request.origin),
  },
}

function hasSkillTool({ tools }: SkillSession): boolean {
  return tools.get('skill') !== undefined
}

class SessionSkills {
  readonly #session: SkillSession
  #library: Promise<SkillLibrary> | undefined
  /** Copies of files of skills that are outside the workspace, in the scratch directory. */
  #copies: Map<string, Promise<SkillFiles>> | undefined

  constructor(session: SkillSession) {
    this.#session = session
  }

  library(): Promise<SkillLibrary> {
    this.#library ??= libraryAt(placesOf(this.#session)).catch((error: unknown) => {
      this.#library = undefined
      throw error
    })
    return this.#library
  }

  async list(): Promise<SkillInfo[]> {
    const { skills } = await this.library()
    return skills.map(({ body: _, ...info }) => info)
  }

  /** Creates the services for one call: a host also sees skills that are hidden from models. */
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
          return { text: `The skill "${name}" is loaded already: its text is above.`, already: true }
        const text = skillText(skill, await this.#filesNextTo(skill))
        await this.#reportLoaded(skill)
        return { text, already: false }
      },
      agent: async (name) => {
        const skill = await named(name)
        const agent = skillAgent(skill, await this.#filesNextTo(skill))
        await this.#reportLoaded(skill)
        return agent
      },
      ended: async (name) => {
        await this.#session.observe('skill_unload', { skill_name: name })
      },
    }
  }

  async #reportLoaded({ name, allowedTools, version, description }: Skill): Promise<void> {
    await this.#session.observe('skill_load', {
      skill_name: name,
      tool_names: toolsOf(allowedTools) ?? ['*'],
      description,
      loaded_at: this.#session.now(),
      version,
    })
  }

  /** Whether the model still sees the text: not after it was summarized or rewound. */
  #isThere({ name }: Skill): boolean {
    return this.#session.log.conversation.view.some(
      (message) =>
        message.role === 'tool' &&
        message.content.some(
          ({ toolName, content }) =>
            toolName === 'skill' &&
            content.some((part) => part.type === 'text' && hasSkillText(part.text, name)),
        ),
    )
  }

  /**
   * Returns the skill's other files at paths that this session's tools can read. Files outside the workspace are
   * copied, so that the original skill is not changed.
   */
  async #filesNextTo({ folder, name }: Skill): Promise<SkillFiles | undefined> {
    if (folder === undefined) return undefined
    const { projectRoot: root } = this.#session
    const files = attachedFiles(folder)
    if (files.length === 0) return undefined
    if (root !== undefined && isInside(root, folder))
      return { directory: relative(root, folder), files, notes: [] }
    this.#copies ??= new Map()
    const copies = this.#copies
    const copied = copies.get(name) ?? this.#copy(name, folder)
    copies.set(name, copied)
    copied.catch(() => copies.delete(name))
    return copied
  }

  async #copy(name: string, folder: string): Promise<SkillFiles> {
    const { workspace } = await this.#session.engine.open()
    const { path, files, notes } = await workspace.scratch.copy(name, folder)
    return { directory: path, files: files.filter(isAttached), notes }
  }
}

function placesOf({ options, projectRoot: root, userDir }: SkillSession): SkillPlaces {
  return {
    inline: options.inlineSkills,
    ...omitUndefined({ directories: options.skillDirs?.map((path) => resolve(root ?? '.', path)) }),
    builtin: options.builtinSkills,
    ...(options.discoverSkills !== false && { ...omitUndefined({ root }), userDir }),
  }
}

/** Shared by all sessions without skills. */
const noSkills = new SkillLibrary([], [])

const libraries = new SingleFlight<SkillLibrary>()

/** Opens the library. Skills that the host defines belong to one session and are not shared. */
function libraryAt(places: SkillPlaces): Promise<SkillLibrary> {
  return places.inline === undefined
    ? libraries.ask(JSON.stringify(places), () => openLibrary(places))
    : openLibrary(places)
}

/** A session without skills only checks the directories that could contain some, and loads no code. */
async function openLibrary(places: SkillPlaces): Promise<SkillLibrary> {
  const { inline = [], directories = [], builtin = false } = places
  const given = inline.length > 0 || directories.length > 0 || builtin
  if (!given && skillDirectories(places).length === 0) return noSkills
  const { openSkillLibrary } = await import('./open-library.js')
  return openSkillLibrary(places)
}

/**
 * Creates the agent that runs a skill on its own. It has only the tools that the skill names and the permissions that
 * the skill states. Its permissions are a subset of the caller's.
 */
function skillAgent(skill: Skill, files?: SkillFiles): TaskAgent {
  const tools = toolsOf(skill.allowedTools)
  return {
    name: `skill:${skill.name}`,
    prompt: skill.kind === 'persona' ? skill.body : `${work}\n\n${skillText(skill, files)}`,
    ...omitUndefined({ tools }),
    permissions: { allow: skill.allowedTools, defaultDecision: 'deny' },
    maxSteps: maxAllowedSteps,
  }
}

const work =
  'You do one piece of work by the skill below. Finish it, and report briefly what you did and what came of it.'
const maxAllowedSteps = 30
