import type { Skill } from './skill.js'

/** What lies beside the text of a skill, and where. */
export type SkillFiles = {
  /** As the read tool takes it. */
  readonly directory: string
  readonly files: readonly string[]
  /** What was left out, and why. */
  readonly notes: readonly string[]
}

/** The text of a skill in its marker, which nothing in the text can close. */
export function skillText({ name, body }: Skill, beside?: SkillFiles): string {
  return [
    `${openingOf(name)}\n${body.replace(/<(\/?)skill_content/gi, '&lt;$1skill_content')}\n</skill_content>`,
    ...(beside === undefined ? [] : [filesText(beside)]),
  ].join('\n\n')
}

/** Whether the text of a skill stands in a text. */
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
