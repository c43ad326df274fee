import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { createBash } from '../toolbox/bash.js'
import { globTool } from '../toolbox/glob.js'
import { readTool } from '../toolbox/read.js'

/**
 * Tools that only a host calls, to get data instead of text for a model: a file's exact text, the paths of a search as
 * a list. They pass the gate like every other call; the model does not see them and cannot call them.
 */
const readText = (name: string, longest: number) =>
  builtInTool<{ file_path: string; offset?: number; limit?: number; max_bytes?: number }, string>({
    name,
    description: 'The text of a file, or some of its lines.',
    kind: 'read',
    idempotent: true,
    requires: { fs: { read: ['{workspace}/**', '{scratch}/**'] } },
    limits: { maxBytes: Number.MAX_SAFE_INTEGER },
    parameters: objectSchema({
      file_path: { type: 'string' },
      'offset?': { type: 'integer', minimum: 0 },
      'limit?': { type: 'integer', minimum: 0 },
      'max_bytes?': { type: 'integer', minimum: 1, maximum: longest },
    }),
    touches: ({ file_path }) => [{ fs: 'read', path: file_path }],
    execute: async ({ file_path, offset, limit, max_bytes }, { runtime }) => {
      const files = runtime?.files
      if (files === undefined) return ''
      if (max_bytes !== undefined) return beginningOf(files, file_path, max_bytes)
      const text = await files.readText(file_path, { maxBytes: longest })
      if (offset === undefined && limit === undefined) return text
      const start = offset ?? 0
      return text
        .split(/(?<=\n)/)
        .slice(start, limit === undefined ? undefined : start + limit)
        .join('')
    },
  })

/** Returns the beginning of a file's text; the rest is not read. */
async function beginningOf(files: RuntimeFiles, path: string, maxBytes: number): Promise<string> {
  const bytes = await files.readRange(path, 0, maxBytes)
  // A character that the end of the range splits is left out. At the end of the file it is an error, like other bytes
  // that are not text.
  const stream = bytes.length === maxBytes
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream })
  } catch (cause) {
    throw new Error(`${path} is not UTF-8 text.`, { cause })
  }
}

const globPaths = (name: string, most: number, cut: boolean) =>
  builtInTool<{ pattern: string; path?: string }>({
    name,
    description: 'The paths that match a pattern.',
    kind: 'search',
    idempotent: true,
    requires: { fs: { read: ['{workspace}/**'] } },
    limits: { maxBytes: Number.MAX_SAFE_INTEGER },
    parameters: objectSchema({ pattern: { type: 'string' }, 'path?': { type: 'string' } }),
    touches: ({ path }) => [{ fs: 'read', path: path ?? '.' }],
    execute: async ({ pattern, path }, { runtime, signal }) => {
      const found = await runtime?.search?.glob({
        pattern,
        limit: most,
        ...omitUndefined({ path, signal }),
      })
      if (found?.incomplete !== undefined) throw new Error(`The list is not complete: ${found.incomplete}`)
      if (found === undefined || !found.truncated) return found?.paths ?? []
      if (cut) return outputEnvelope(found.paths, { truncated: true })
      throw new Error(`More than ${most} files match "${pattern}": narrow it.`)
    },
  })

/** Runs commands for the host when the model has no such tool, or a shorter time limit. */
const hostBash = createBash('host_bash', 24 * 60 * 60 * 1000)

const maxFileBytes = 256 * 1024 * 1024
const maxPaths = 1_000_000
/** The maximum bytes that one call of a script can read into memory; many run at the same time. */
const maxScriptReadBytes = 16 * 1024 * 1024 + 8
const maxScriptPaths = 100_000

export const hostTools: ReadonlyMap<string, AnyGovernedTool> = new Map(
  [readText('host_read_text', maxFileBytes), globPaths('host_glob', maxPaths, false), hostBash].map(
    (tool) => [tool.name, tool as AnyGovernedTool],
  ),
)

/** Variants of the reading tools that return data, for scripts. Each has the name and permissions of its tool. */
export const dataForms: ReadonlyMap<AnyTool, AnyGovernedTool> = new Map<AnyTool, AnyGovernedTool>([
  [readTool as AnyTool, readText('read', maxScriptReadBytes) as AnyGovernedTool],
  [globTool as AnyTool, globPaths('glob', maxScriptPaths, true) as AnyGovernedTool],
])
