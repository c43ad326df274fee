import { parseSkill, type SkillProblem } from '../../skills/parse-skill.js'
import { messageOf } from '../../tool/errors.js'
import { readFrontMatter } from '../../workspace/front-matter.js'
import { YamlError } from '../../workspace/yaml/errors.js'
import type { DirFile } from './dir-files.js'
import type { Findings } from './findings.js'

/**
 * Checks `skills/`, which sessions read themselves. Sessions ignore invalid skills and parts of them. No user would
 * notice that in a scheduled agent, so it is reported here.
 */
export function checkSkills(files: readonly DirFile[], findings: Findings): string[] {
  const taken = new Map<string, string>()
  for (const { file, stem, text, folder, path } of files) {
    // Other files are allowed next to skills: files without front matter that are not the main file of a folder.
    if (folder === undefined && !/^\ufeff?---[ \t]*\r?\n/.test(text)) continue
    try {
      const { skill, problems } = parseSkill(text, { source: 'directory', stem, path })
      const { lines } = readFrontMatter(text)
      for (const problem of problems) findings.add(file, lineOf(lines, problem), problem.message)
      const other = taken.get(skill.name)
      if (other !== undefined)
        findings.add(file, 1, `duplicate skill name: ${skill.name} (also in ${other}); rename one`)
      taken.set(skill.name, other ?? file)
    } catch (error) {
      const [line, problem] = error instanceof YamlError ? [error.line, error.problem] : [1, messageOf(error)]
      findings.add(file, line, `not a skill: ${problem}`)
    }
  }
  return [...taken.keys()]
}

/** The line of the field that a problem is about. */
function lineOf(lines: ReadonlyMap<string, number>, { field }: SkillProblem): number {
  return lines.get(field) ?? lines.get(field.replaceAll('-', '_')) ?? 1
}
