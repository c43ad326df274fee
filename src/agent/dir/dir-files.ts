import { createHash } from 'node:crypto'
import { relative, sep } from 'node:path'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { findFiles, isDirectory } from '../../workspace/find-files.js'
import type { Findings } from './findings.js'

export type DirFile = {
  /** The path relative to the directory, with slashes. */
  readonly file: string
  /** The file name without its extension; for a skill folder, the name of the folder. */
  readonly stem: string
  readonly text: string
  /** The folder of a skill. */
  readonly folder?: string
  readonly path: string
}

/** The files of an agent directory, read at one time. */
export type DirFiles = {
  readonly instructions?: DirFile
  readonly config?: DirFile
  readonly schedules: readonly DirFile[]
  readonly tools: readonly DirFile[]
  readonly skills: readonly DirFile[]
}

const maxBytes = 256 * 1024

/** Reads all files of an agent directory. Links that lead out of it are not followed. */
export function readDirFiles(directory: string, findings: Findings): DirFiles {
  const look = (folder: string, names: RegExp, maxDepth: number, main?: string): DirFile[] => {
    const path = folder === '' ? directory : `${directory}${sep}${folder}`
    const options = {
      names,
      maxBytes,
      maxDepth,
      seen: new Set<string>(),
      ...omitUndefined({ main }),
    }
    return [...findFiles({ path, trees: [directory] }, options)].flatMap((found) => {
      if ('problem' in found) {
        findings.add(nameIn(directory, found.path), 1, found.problem)
        return []
      }
      const file = nameIn(directory, found.path)
      const parts = file.split('/')
      const last = parts.at(-1) ?? file
      const stem = found.folder === undefined ? last.replace(/\.[^.]*$/, '') : (parts.at(-2) ?? last)
      const { text, path: place, folder: own } = found
      return [{ file, stem, text, path: place, ...omitUndefined({ folder: own }) }]
    })
  }
  const top = look('', /^(?:instructions\.md|agent\.acl)$/, 0)
  const instructions = top.find(({ file }) => file === 'instructions.md')
  const config = top.find(({ file }) => file === 'agent.acl')
  const has = (folder: string): boolean => isDirectory(`${directory}${sep}${folder}`)
  return {
    ...omitUndefined({ instructions, config }),
    schedules: has('schedules') ? look('schedules', /\.md$/i, 0) : [],
    tools: has('tools') ? look('tools', /\.md$/i, 0) : [],
    skills: has('skills') ? look('skills', /\.md$/i, 4, 'SKILL.md') : [],
  }
}

/** A digest of the contents of files. */
export function digestOf(files: readonly (DirFile | undefined)[]): string {
  const hash = createHash('sha256')
  for (const one of files) if (one !== undefined) hash.update(JSON.stringify([one.file, one.text]))
  return hash.digest('hex')
}

/** The digest of all files of an agent directory. */
export function digestOfAll({ instructions, config, schedules, tools, skills }: DirFiles): string {
  return digestOf([instructions, config, ...schedules, ...tools, ...skills])
}

/** A path relative to the directory, with slashes. */
function nameIn(directory: string, path: string): string {
  return relative(directory, path).split(sep).join('/') || '.'
}
