/** `instruction`: how to do a kind of work; `persona`: who to be while doing it; `tool`: how to use a tool. */
export const skillKinds = ['instruction', 'persona', 'tool'] as const
/** The kind of a skill. */
export type SkillKind = (typeof skillKinds)[number]

/** The origin of a skill; of two with one name the earlier in this list is used. */
export type SkillSource = 'inline' | 'directory' | 'user' | 'project' | 'builtin'

/**
 * Instructions for a kind of work. They grant no authority: the tools they name can only narrow what is available.
 */
export type Skill = {
  readonly name: string
  /** One line: what the skill is for, and when to use it. */
  readonly description: string
  readonly kind: SkillKind
  readonly tags: readonly string[]
  /** Rules such as `bash(git *)` for the tools it needs when it runs as a separate agent; empty: no tools. */
  readonly allowedTools: readonly string[]
  readonly source: SkillSource
  readonly body: string
  /** The file it was read from. */
  readonly path?: string | undefined
  /** The real path of its own folder, with the other files that belong to it. */
  readonly folder?: string | undefined
  /** False: only users and hosts can use it; it is hidden from models. */
  readonly forModels: boolean
  readonly license?: string | undefined
  readonly compatibility?: string | undefined
  readonly version?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** A skill that a host provides as text. */
export type InlineSkill = {
  readonly name: string
  readonly kind?: SkillKind
  readonly description?: string
  readonly tags?: readonly string[]
  readonly allowedTools?: string | readonly string[]
  readonly content: string
}

/** A skill without its text. */
export type SkillInfo = Omit<Skill, 'body'>
