import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'
import { spilledOutput } from './spilled.js'

export type GlobArgs = { pattern: string; path?: string; order?: 'name' | 'newest' }

const maxEntries = 1_000
/** The maximum number of paths in the file with the whole output. */
const maxSpilled = 2_000

/** Finds files by name. */
export const globTool = builtInTool<GlobArgs>({
  name: 'glob',
  description:
    'List files by glob (*, **, {a,b}, [abc]); without a slash at any depth. Obeys .gitignore; 1,000 at most.',
  kind: 'search',
  idempotent: true,
  limits: { maxItems: maxEntries },
  requires: { fs: { read: ['{workspace}/**'] } },
  parameters: objectSchema({
    pattern: { type: 'string', minLength: 1, description: 'src/**/*.{js,css}' },
    'path?': { type: 'string', description: 'Directory' },
    'order?': { enum: ['name', 'newest'] },
  }),
  touches: ({ path }) => [{ fs: 'read', path: path ?? '.' }],
  async execute({ pattern, path, order }, context) {
    const { paths, total, incomplete } = await requireService(context, 'search').glob({
      pattern,
      limit: maxSpilled,
      path,
      order,
      signal: context.signal,
    })
    const metadata = { total, ...(incomplete === undefined ? {} : { incomplete }) }
    const warning = incomplete === undefined ? '' : `\nIncomplete: ${incomplete}`
    if (total === 0) return outputEnvelope(`${nothing(pattern)}${warning}`, metadata)
    const shown = paths.slice(0, maxEntries)
    const list = shown.map(pathText).join('\n')
    const footer = `\n\n${shown.length} of ${incomplete === undefined ? '' : 'at least '}${total} file(s) shown`
    if (shown.length >= total) return outputEnvelope(`${list}${footer}${warning}`, metadata)
    return spilledOutput(context, {
      label: 'glob',
      total,
      metadata,
      whole: () => paths.map(pathText).join('\n'),
      head: (file) => {
        const more = file === undefined ? '' : ` The first ${paths.length} are in ${file}.`
        return `${list}${footer}: the list is cut.${more} Narrow it with path or a longer pattern.${warning}`
      },
    })
  },
})

function nothing(pattern: string): string {
  const hint = pattern.startsWith('/')
    ? 'Patterns start at the searched directory, not at the root of the disk: leave out what leads there, or give it as path.'
    : pattern.includes('/')
      ? 'A pattern with a slash starts at the searched directory: put **/ in front to match at any depth.'
      : 'Only names of files are compared, and files that .gitignore names are left out: try a wider pattern, or ls.'
  return `No files found matching pattern: ${pattern}\n${hint}`
}
