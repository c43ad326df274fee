import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import type { DirectoryEntry } from '../tool/runtime.js'
import { entryText, orDescribeMissing } from './nearest-path.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'

export type LsArgs = { path?: string }

const maxEntries = 1000

/** Lists one directory. */
export const lsTool = builtInTool<LsArgs>({
  name: 'ls',
  description:
    'List one directory: size in bytes (or dir, symlink, other) and name, hidden ones too, at most 1000. For a tree use glob.',
  kind: 'read',
  idempotent: true,
  requires: { fs: { read: ['{workspace}/**', '{scratch}/**'] } },
  parameters: objectSchema({ 'path?': { type: 'string' } }),
  touches: ({ path = '.' }) => [{ fs: 'read', path }],
  async execute({ path = '.' }, context) {
    const entries = await orDescribeMissing(context, path, requireService(context, 'files').list(path))
    const shown = entries.slice(0, maxEntries)
    const more = entries.length - shown.length
    const lines = shown.map((entry) => `${detailOf(entry).padStart(10)}  ${entryText(entry)}\n`)
    const rest = more > 0 ? `\n... (${more} more entries; find them by name with glob)\n` : ''
    return outputEnvelope(
      entries.length === 0 ? `(${pathText(path)} is empty)` : `${lines.join('')}${rest}`,
      { path, entries: entries.length, ...(more > 0 ? { truncated: true } : {}) },
    )
  },
})

/** The size is not known in a very large directory. */
function detailOf({ kind, size }: DirectoryEntry): string {
  if (kind === 'file') return size === undefined ? 'file' : String(size)
  return kind === 'directory' ? 'dir' : kind
}
