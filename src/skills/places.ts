import { basename, dirname, join } from 'node:path'
import { isDirectory, type SearchedDirectory } from '../workspace/find-files.js'
import { projectDirectories } from '../workspace/project-directories.js'
import type { InlineSkill, SkillSource } from './skill.js'

/** The locations of skills. */
export type SkillPlaces = {
  readonly inline?: readonly InlineSkill[] | undefined
  /** Directories that the host names. */
  readonly directories?: readonly string[]
  /**
   * The user's own directory, `~/.capstan`, with skills in its subdirectory `skills`. Absent: no skills of the user.
   */
  readonly userDir?: string
  /** The real path of the workspace. Absent: no skills of the project. */
  readonly root?: string
  readonly builtin?: boolean | undefined
}

/** A directory that contains skills. */
export type SkillDirectory = SearchedDirectory & { readonly source: SkillSource }

/** Returns the existing directories in order of precedence. Costs a few file system calls. */
export function skillDirectories({ directories = [], userDir, root }: SkillPlaces): SkillDirectory[] {
  const user = (userDir === undefined ? [] : userPlaces(userDir)).filter(isDirectory)
  const project = (root === undefined ? [] : projectDirectories(root)).reverse()
  return [
    ...directories
      .filter(isDirectory)
      .map((path): SkillDirectory => ({ source: 'directory', path, trees: [path] })),
    // Programs that install skills put them in one of these directories and links to them in the others.
    ...user.map((path): SkillDirectory => ({ source: 'user', path, trees: user })),
    ...project.flatMap(({ directory, tree }) =>
      projectPlaces
        .map((place) => join(directory, place))
        .filter(isDirectory)
        .map((path): SkillDirectory => ({ source: 'project', path, trees: [tree] })),
    ),
  ]
}

const projectPlaces = ['.capstan/skills', '.agents/skills', '.claude/skills']

/** Other systems have their directories next to `~/.capstan`. */
function userPlaces(userDir: string): string[] {
  const own = join(userDir, 'skills')
  if (basename(userDir) !== '.capstan') return [own]
  return [own, ...['.agents', '.claude'].map((name) => join(dirname(userDir), name, 'skills'))]
}
