import { realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { OpenPlaces } from '../workspace/open-workspace.js'
import { SessionOptionError } from './errors.js'
import type { SessionOptions } from './options.js'

/** A shared object, because most sessions have none. */
const noPlaces: OpenPlaces = { adHoc: [], userData: [] }

/** The directories outside the workspace that a session can access. Subagents share those of their parent. */
export class OutsideDirectories {
  readonly #root: string
  #open: OpenPlaces

  /** `root` is the base of relative paths. */
  constructor(root: string, { adHocFiles = [], userDataDir }: SessionOptions) {
    this.#root = root
    const isNone = adHocFiles.length === 0 && userDataDir === undefined
    this.#open = isNone
      ? noPlaces
      : {
          adHoc: this.#directoriesOf(adHocFiles),
          userData: userDataDir === undefined ? [] : [directory(resolve(root, userDataDir), 'userDataDir')],
        }
  }

  /** Returns the current directories; a new object after each change. */
  current(): OpenPlaces {
    return this.#open
  }

  /** Replaces the list of open files. */
  setAdHocFiles(paths: readonly string[]): void {
    if (!Array.isArray(paths) || paths.some((path) => typeof path !== 'string'))
      throw new SessionOptionError('adHocFiles', 'adHocFiles must be a list of paths.')
    this.#open = { ...this.#open, adHoc: this.#directoriesOf(paths) }
  }

  #directoriesOf(paths: readonly string[]): string[] {
    const found = paths.map((path) => {
      if (path.trim() === '')
        throw new SessionOptionError('adHocFiles', 'adHocFiles holds a path that is blank.')
      return directory(dirname(resolve(this.#root, path)), 'adHocFiles')
    })
    return [...new Set(found)]
  }
}

/** Returns the real path of a directory. Refuses the root of the disk, which would open everything. */
function directory(path: string, option: string): string {
  let real: string
  try {
    real = realpathSync.native(path)
    if (!statSync(real).isDirectory()) throw new Error('it is not a directory')
  } catch {
    throw new SessionOptionError(
      option,
      `${option}: there is no directory ${path}. Create it, or name another.`,
    )
  }
  if (dirname(real) === real)
    throw new SessionOptionError(
      option,
      `${option}: ${path} is the root of the disk. Name a directory below it.`,
    )
  return real
}
