import type { Skill } from './skill.js'

/** The other files of a skill, and their location. */
export type SkillFiles = {
  /** In the form that the read tool accepts. */
  readonly directory: string
  readonly files: readonly string[]
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

/** Returns the text of a skill in its tag, which nothing in the text can close. */
export function skillText({ name, body }: Skill, files?: SkillFiles): string {
  return [
    `${openingOf(name)}\n${body.replace(/<(\/?)skill_content/gi, '&lt;$1skill_content')}\n</skill_content>`,
    ...(files === undefined ? [] : [filesText(files)]),
  ].join('\n\n')
}

/** Whether a text contains the text of a skill. */
export function hasSkillText(text: string, name: string): boolean {
  return text.includes(openingOf(name))
}

function openingOf(name: string): string {
  return `<skill_content name="${name}">`
}

const maxListed = 60

function filesText({ directory, files, notes }: SkillFiles): string {
  const shown = files.slice(0, maxListed).map((file) => `- ${file}`)
  const more = files.length > shown.length ? [`- and ${files.length - shown.length} more`] : []
  return [`Its files are in ${directory} (read them as the text says):`, ...shown, ...more, ...notes].join(
    '\n',
  )
}
