import { basename, dirname, join } from 'node:path'
import { messageOf } from '../tool/errors.js'
import { projectDirectories } from '../workspace/project-directories.js'
import { builtinSkills } from './builtin/index.js'
import { findSkillFiles, isDirectory, type SkillDirectory, type SkillFile, stemOf } from './find-skill-files.js'
import { SkillLibrary } from './library.js'
import { type ParsedSkill, parseInlineSkill, parseSkill } from './parse-skill.js'
import { sharedSkill } from './shared-skill.js'
import type { InlineSkill, Skill, SkillSource } from './skill.js'

export type SkillPlaces = {
  readonly inline?: readonly InlineSkill[]
  /** Directories that a host names. */
  readonly directories?: readonly string[]
  /** The user's own directory, `~/.capstan`: skills are in `skills` below it. Absent: no skills of the user. */
  readonly userDir?: string
  /** The real path of the workspace. Absent: no skills of the project. */
  readonly root?: string
  readonly builtin?: boolean
}

const mostSkills = 5_000

/**
 * Reads the skills of all places. Of two with one name the first counts: what a host and a person wrote goes before what came with a
 * repository, whose skills must not stand in for theirs. What is wrong with one is told, and the others count.
 */
export async function openSkillLibrary(places: SkillPlaces): Promise<SkillLibrary> {
  const skills = new Map<string, Skill>()
  const problems: string[] = []
  const add = (where: string, parse: () => ParsedSkill): void => {
    try {
      const { skill, problems: odd } = parse()
      problems.push(...odd.map((problem) => `${where}: ${problem}`))
      const known = skills.get(skill.name)
      if (known !== undefined)
        problems.push(`${where} was left out: the skill "${skill.name}" is there already, from ${placeOf(known)}`)
      else if (skills.size >= mostSkills) problems.push(`${where} was left out: there are ${mostSkills} skills already`)
      else skills.set(skill.name, skill)
    } catch (error) {
      problems.push(`${where} is no skill: ${messageOf(error)}`)
    }
  }
  for (const [at, one] of (places.inline ?? []).entries()) add(`inlineSkills[${at}]`, () => parseInlineSkill(one))
  const seen = new Set<string>()
  for (const { source, ...directory } of directoriesOf(places, problems)) {
    const found = await findSkillFiles(directory, seen)
    problems.push(...found.problems)
    for (const file of found.files) add(file.path, () => parseFile(file, source))
  }
  if (places.builtin === true)
    for (const skill of builtinSkills)
      // One that a person put in its place was meant to be.
      if (!skills.has(skill.name)) skills.set(skill.name, skill)
  return new SkillLibrary([...skills.values()], problems.slice(0, mostProblems))
}

const mostProblems = 100

function placeOf({ path, source }: Skill): string {
  return path ?? (source === 'inline' ? 'inlineSkills' : 'the built-in ones')
}

function parseFile(file: SkillFile, source: SkillSource): ParsedSkill {
  const { skill, problems } = parseSkill(file.text, {
    source,
    stem: stemOf(file),
    path: file.path,
    ...(file.folder !== undefined && { folder: file.folder }),
  })
  return { skill: sharedSkill(skill), problems }
}

type Place = SkillDirectory & { readonly source: SkillSource }

function directoriesOf({ directories = [], userDir, root }: SkillPlaces, problems: string[]): Place[] {
  const given = directories.flatMap((path): Place[] => {
    if (isDirectory(path)) return [{ source: 'directory', path, trees: [path] }]
    problems.push(`skillDirs: ${path} is no directory that can be read`)
    return []
  })
  const user = (userDir === undefined ? [] : userPlaces(userDir)).filter(isDirectory)
  const project = (root === undefined ? [] : projectDirectories(root)).reverse().flatMap(({ directory, tree }) =>
    projectPlaces
      .map((place) => join(directory, place))
      .filter(isDirectory)
      .map((path): Place => ({ source: 'project', path, trees: [tree] })),
  )
  return [
    ...given,
    // Tools that install skills put them in one of these and links to them in the others.
    ...user.map((path): Place => ({ source: 'user', path, trees: user })),
    ...project,
  ]
}

const projectPlaces = ['.capstan/skills', '.agents/skills', '.claude/skills']

/** Beside `~/.capstan` other systems have theirs. */
function userPlaces(userDir: string): string[] {
  const own = join(userDir, 'skills')
  if (basename(userDir) !== '.capstan') return [own]
  return [own, ...['.agents', '.claude'].map((name) => join(dirname(userDir), name, 'skills'))]
}
