import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createBash } from '../toolbox/bash.js'
import { globTool } from '../toolbox/glob.js'
import { readTool } from '../toolbox/read.js'

/**
 * Calls that only a host makes, for what it wants as data rather than as a page for a model: a file's text as it is, the paths of a
 * search as a list. They walk the gate like every other call; no model is shown them, and none can name them.
 */
const readText = (name: string) =>
  createJsonTool<{ file_path: string; offset?: number; limit?: number }, string>({
    name,
    description: 'The text of a file, or some of its lines.',
    kind: 'read',
    idempotent: true,
    requires: { fs: { read: ['{workspace}/**', '{scratch}/**'] } },
    limits: { maxBytes: Number.MAX_SAFE_INTEGER },
    parameters: {
      type: 'object',
      properties: {
        file_path: { type: 'string' },
        offset: { type: 'integer', minimum: 0 },
        limit: { type: 'integer', minimum: 0 },
      },
      required: ['file_path'],
      additionalProperties: false,
    },
    touches: ({ file_path }) => [{ fs: 'read', path: file_path }],
    execute: async ({ file_path, offset, limit }, { runtime }) => {
      const text = (await runtime?.files?.readText(file_path, { maxBytes: longestFile })) ?? ''
      if (offset === undefined && limit === undefined) return text
      const start = offset ?? 0
      return text
        .split(/(?<=\n)/)
        .slice(start, limit === undefined ? undefined : start + limit)
        .join('')
    },
  })

const globPaths = (name: string) =>
  createJsonTool<{ pattern: string; path?: string }, readonly string[]>({
    name,
    description: 'The paths that match a pattern.',
    kind: 'search',
    idempotent: true,
    requires: { fs: { read: ['{workspace}/**'] } },
    limits: { maxBytes: Number.MAX_SAFE_INTEGER },
    parameters: {
      type: 'object',
      properties: { pattern: { type: 'string' }, path: { type: 'string' } },
      required: ['pattern'],
      additionalProperties: false,
    },
    touches: ({ path }) => [{ fs: 'read', path: path ?? '.' }],
    execute: async ({ pattern, path }, { runtime, signal }) => {
      const found = await runtime?.search?.glob({
        pattern,
        limit: mostPaths,
        ...(path !== undefined && { path }),
        ...(signal !== undefined && { signal }),
      })
      if (found?.incomplete !== undefined) throw new Error(`The list is not complete: ${found.incomplete}`)
      if (found?.truncated) throw new Error(`More than ${mostPaths} files match "${pattern}": narrow it.`)
      return found?.paths ?? []
    },
  })

/** Commands of the host's own where the model has none, or may not have them run for as long. */
const hostBash = createBash('host_bash', 24 * 60 * 60 * 1000)

const longestFile = 256 * 1024 * 1024
const mostPaths = 1_000_000

export const hostTools: ReadonlyMap<string, AnyGovernedTool> = new Map(
  [readText('host_read_text'), globPaths('host_glob'), hostBash].map((tool) => [
    tool.name,
    tool as AnyGovernedTool,
  ]),
)

/** The same for scripts, under the names of the tools that they are forms of: whoever may read may read so. */
export const dataForms: ReadonlyMap<AnyTool, AnyGovernedTool> = new Map<AnyTool, AnyGovernedTool>([
  [readTool as AnyTool, readText('read') as AnyGovernedTool],
  [globTool as AnyTool, globPaths('glob') as AnyGovernedTool],
])
