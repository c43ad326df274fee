// What a program has loaded of the library by the time it has imported it, opened a session, had an answer, and had a
// tool called. Each stage is a file, so that Node compiles only what a program uses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const stagesFile = join(import.meta.dirname, 'load-stages.json')

/** Paths of modules by stage. @returns {Record<string, string[]>} */
export function loadStages() {
  return JSON.parse(readFileSync(stagesFile, 'utf8'))
}

/** The name of the file that a module is in when each has one. @param {string} path */
export function fileOfModule(path) {
  return path.replaceAll('/', '~')
}

/** @param {string} file */
export function moduleOfFile(file) {
  return file.replace(/\.cjs$/, '').replaceAll('~', '/')
}
