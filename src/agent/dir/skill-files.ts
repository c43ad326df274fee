import { parseSkill } from '../../skills/parse-skill.js'
import { messageOf } from '../../tool/errors.js'
import { readFrontMatter } from '../../workspace/front-matter.js'
import { YamlError } from '../../workspace/yaml/errors.js'
import type { DirFile } from './dir-files.js'
import type { Findings } from './findings.js'

/**
 * Looks at `skills/`, which sessions read for themselves. They pass over what is no skill and take half of what is odd; nobody would
 * notice that of an agent that works alone, so here it is told.
 */
export function checkSkills(files: readonly DirFile[], findings: Findings): string[] {
  const taken = new Map<string, string>()
  for (const { file, stem, text, folder, path } of files) {
    // Beside skills there are files for people: those that are no folder's main file and say nothing of themselves.
    if (folder === undefined && !/^\ufeff?---[ \t]*\r?\n/.test(text)) continue
    try {
      const { skill, problems } = parseSkill(text, { source: 'directory', stem, path })
      const { lines } = readFrontMatter(text)
      for (const problem of problems) findings.add(file, lineIn(lines, problem), problem)
      const other = taken.get(skill.name)
      if (other !== undefined)
        findings.add(file, 1, `duplicate skill name: ${skill.name} (also in ${other}); rename one`)
      taken.set(skill.name, other ?? file)
    } catch (error) {
      const line = error instanceof YamlError ? error.line : 1
      findings.add(file, line, `no skill: ${messageOf(error).replace(/^line \d+: /, '')}`)
    }
  }
  return [...taken.keys()]
}

/** What is said of a field begins with its name. */
function lineIn(lines: ReadonlyMap<string, number>, problem: string): number {
  const [field = ''] = /^[\w-]+/.exec(problem) ?? []
  const name = field === 'a' ? 'name' : field
  return lines.get(name) ?? lines.get(name.replace(/-/g, '_')) ?? 1
}
