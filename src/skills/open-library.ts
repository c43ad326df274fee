import { basename, dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../tool/errors.js'
import { type FoundFile, findFiles, isDirectory } from '../workspace/find-files.js'
import { packageSkills } from './builtin/index.js'
import { SkillLibrary } from './library.js'
import { type ParsedSkill, parseInlineSkill, parseSkill } from './parse-skill.js'
import { type SkillPlaces, skillDirectories } from './places.js'
import type { Skill, SkillSource } from './skill.js'

const maxSkills = 5_000

/**
 * Reads the skills of all locations. Of two with the same name, the first is used: skills of the host and the user
 * come before those of a repository, which must not replace them. A problem with one skill is reported, and the
 * others are used.
 */
export async function openSkillLibrary(places: SkillPlaces): Promise<SkillLibrary> {
  const skills = new Map<string, Skill>()
  const problems: string[] = []
  const add = (where: string, parse: () => ParsedSkill): void => {
    try {
      const { skill, problems: ignored } = parse()
      problems.push(...ignored.map(({ message }) => `${where}: ${message}`))
      const known = skills.get(skill.name)
      if (known !== undefined)
        problems.push(
          `${where} was left out: the skill "${skill.name}" is there already, from ${placeOf(known)}`,
        )
      else if (skills.size >= maxSkills)
        problems.push(`${where} was left out: there are ${maxSkills} skills already`)
      else skills.set(skill.name, skill)
    } catch (error) {
      problems.push(`${where} is not a skill: ${messageOf(error)}`)
    }
  }
  for (const [at, one] of (places.inline ?? []).entries())
    add(`inlineSkills[${at}]`, () => parseInlineSkill(one))
  const seen = new Set<string>()
  let read = 0
  for (const path of places.directories ?? [])
    if (!isDirectory(path)) problems.push(`skillDirs: ${path} is not a directory that can be read`)
  for (const directory of skillDirectories(places)) {
    for (const found of findFiles(directory, { ...wanted, seen })) {
      read += 1
      if (read % slice === 0) await nextTurn()
      if ('problem' in found) problems.push(`${found.path} ${found.problem}`)
      else if (isSkillFile(found)) add(found.path, () => parseFile(found, directory.source))
    }
  }
  if (places.builtin === true)
    // A skill that a user defines under the same name replaces a built-in one.
    for (const skill of packageSkills) if (!skills.has(skill.name)) skills.set(skill.name, skill)
  return new SkillLibrary([...skills.values()], problems.slice(0, maxProblems))
}

const maxProblems = 100
const wanted = { names: /\.md$/i, main: 'SKILL.md', maxBytes: 256 * 1024, maxDepth: 4 }
/** How many files are read before other work of the event loop gets a turn. */
const slice = 64

/**
 * Whether a file is a skill. Files for people can be next to skills: they are not a folder's main file and have no
 * fields.
 */
function isSkillFile({ folder, text }: FoundFile): boolean {
  return folder !== undefined || /^\ufeff?---[ \t]*\r?\n/.test(text)
}

function placeOf({ path, source }: Skill): string {
  return path ?? (source === 'inline' ? 'inlineSkills' : 'the built-in ones')
}

function parseFile(file: FoundFile, source: SkillSource): ParsedSkill {
  const { skill, problems } = parseSkill(file.text, {
    source,
    stem:
      file.folder === undefined ? basename(file.path).replace(/\.md$/i, '') : basename(dirname(file.path)),
    path: file.path,
    folder: file.folder,
  })
  return { skill: sharedSkill(skill), problems }
}

/**
 * Returns one shared object for all sessions that read the same skill, because its text is most of the memory of an
 * idle session.
 */
function sharedSkill(skill: Skill): Skill {
  const key = `${skill.source} ${skill.path}`
  const known = recent.get(key)?.deref()
  recent.delete(key)
  const shared = known !== undefined && isSame(known, skill) ? known : skill
  recent.set(key, new WeakRef(shared))
  // The least recently read skill is removed first.
  if (recent.size > maxRemembered) recent.delete(recent.keys().next().value ?? '')
  return shared
}

const recent = new Map<string, WeakRef<Skill>>()
const maxRemembered = 4_096

function isSame({ body, ...info }: Skill, { body: otherBody, ...other }: Skill): boolean {
  return body === otherBody && JSON.stringify(info) === JSON.stringify(other)
}
