import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { extractBlocks } from '../house/docs-blocks.js'
import { root } from '../house/run.js'

/**
 * The statements of docs/postgres.md that make the role of the processes, for an administrator, and that give it its
 * rights, for the owner of the tables.
 */
export function roleScript(): { readonly create: string; readonly grant: string } {
  const page = 'docs/postgres.md'
  const blocks = extractBlocks(page, readFileSync(join(root, page), 'utf8'))
  const [create = '', grant = ''] = ['create role ', 'grant '].map(
    (start) => blocks.find(({ code }) => code.startsWith(start))?.code,
  )
  return { create, grant }
}
