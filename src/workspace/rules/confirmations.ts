import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { changeFile } from './change-file.js'
import { readIfThere } from './read-if-there.js'

/** The files of one workspace that the user has confirmed, as digests of path and text. */
export interface Confirmations {
  /** The user's own directory for this workspace. */
  readonly directory: string
  all(): Promise<ReadonlySet<string>>
  /** Accepts only a digest. */
  add(confirmation: string): Promise<void>
}

/** Saved in the user's directory, outside every workspace, so that no file of a workspace can confirm itself. */
export function openConfirmations({ root, userDir }: { root: string; userDir: string }): Confirmations {
  const directory = join(userDir, 'projects', createHash('sha256').update(root).digest('hex').slice(0, 32))
  const file = join(directory, 'confirmed')
  const all = async (): Promise<ReadonlySet<string>> =>
    new Set(((await readIfThere(file, maxFileBytes)) ?? '').split('\n').filter(Boolean))
  return {
    directory,
    all,
    async add(confirmation) {
      if (!/^[0-9a-f]{64}$/.test(confirmation)) throw new TypeError('that is not a confirmation of a text')
      await changeFile(file, async () => `${[...new Set([...(await all()), confirmation])].join('\n')}\n`)
    },
  }
}

const maxFileBytes = 1_048_576
