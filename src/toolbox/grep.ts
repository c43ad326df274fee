import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { GrepLine, GrepOutcome, GrepRequest } from '../tool/runtime.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'
import { spilledOutput } from './spilled.js'

export type GrepArgs = {
  pattern: string
  path?: string | undefined
  glob?: string | undefined
  context?: number | undefined
  before?: number | undefined
  after?: number | undefined
  ignore_case?: boolean | undefined
  '-i'?: boolean
  output_mode?: 'content' | 'files_with_matches' | 'count' | undefined
}

const maxMatches = 200
const maxFiles = 1_000
const maxContext = 100
/** The file with the whole output has at most this many times as many results as are shown. */
const spillFactor = 10

const lines = { type: 'integer', minimum: 0 } as const

/** Finds lines with a regular expression. */
export const grepTool = builtInTool<GrepArgs>({
  name: 'grep',
  description:
    'Search file contents with a regular expression (Rust syntax, within a line). Obeys .gitignore, skips binary files. ' +
    'Matches are ">path:line: text", context has a space for ">"; 200 matches at most.',
  unlisted: ['-i', 'before', 'after'],
  kind: 'search',
  idempotent: true,
  limits: { maxItems: maxMatches },
  requires: { fs: { read: ['{workspace}/**'] } },
  parameters: objectSchema({
    pattern: {
      type: 'string',
      minLength: 1,
      description: 'Escape: foo\\(',
    },
    'path?': { type: 'string', description: 'File or directory' },
    'glob?': { type: 'string', description: '*.{ts,tsx}' },
    'context?': { ...lines, description: 'Lines around a match' },
    'before?': lines,
    'after?': lines,
    'ignore_case?': { type: 'boolean' },
    '-i?': { type: 'boolean' },
    'output_mode?': { enum: ['content', 'files_with_matches', 'count'] },
  }),
  touches: ({ path }) => [{ fs: 'read', path: path ?? '.' }],
  async execute(args, context) {
    const request = requestOf(args, context)
    try {
      const outcome = await requireService(context, 'search').grep(request)
      return request.mode === 'content'
        ? await contentOutput(args, outcome, context)
        : await filesOutput(args, outcome, context)
    } catch (error) {
      if (!(error instanceof CapstanError) || error.code !== 'search_pattern_invalid') throw error
      const start = `Invalid regex pattern '${args.pattern.slice(0, 200)}'`
      return errorEnvelope(error.message.startsWith(start) ? error.message : `${start}: ${error.message}`)
    }
  },
})

function requestOf(args: GrepArgs, { signal }: ToolCallContext): GrepRequest & { readonly mode: Mode } {
  const mode = args.output_mode === undefined ? 'content' : modes[args.output_mode]
  return {
    pattern: args.pattern,
    path: args.path,
    glob: args.glob,
    ignoreCase: args.ignore_case === true || args['-i'] === true,
    before: Math.min(args.before ?? args.context ?? 0, maxContext),
    after: Math.min(args.after ?? args.context ?? 0, maxContext),
    mode,
    limit: (mode === 'content' ? maxMatches : maxFiles) * spillFactor,
    signal,
  }
}

type Mode = 'content' | 'files' | 'count'
const modes = { content: 'content', files_with_matches: 'files', count: 'count' } as const

async function contentOutput(
  args: GrepArgs,
  outcome: GrepOutcome,
  context: ToolCallContext,
): Promise<unknown> {
  const withContext = (args.context ?? 0) + (args.before ?? 0) + (args.after ?? 0) > 0
  const shown = firstMatches(outcome.lines, maxMatches, args.after ?? args.context ?? 0)
  const count = countMatches(shown)
  return finish(args, outcome, context, {
    shown: count,
    total: outcome.matches,
    unit: 'matches',
    head: linesText(shown, withContext),
    kept: countMatches(outcome.lines),
    whole: () => linesText(outcome.lines, withContext),
  })
}

async function filesOutput(args: GrepArgs, outcome: GrepOutcome, context: ToolCallContext): Promise<unknown> {
  const text = (files: GrepOutcome['files']): string =>
    files
      .map(({ path, count }) =>
        args.output_mode === 'count' ? `${pathText(path)}: ${count}` : pathText(path),
      )
      .join('\n')
  const shown = outcome.files.slice(0, maxFiles)
  return finish(args, outcome, context, {
    shown: shown.length,
    total: outcome.fileCount,
    unit: 'files',
    head: text(shown),
    kept: outcome.files.length,
    whole: () => text(outcome.files),
  })
}

type Listing = {
  readonly shown: number
  readonly total: number
  readonly unit: 'matches' | 'files'
  readonly head: string
  /** The number of results in `whole`. */
  readonly kept: number
  readonly whole: () => string
}

async function finish(
  { pattern }: GrepArgs,
  { matches, fileCount, incomplete }: GrepOutcome,
  context: ToolCallContext,
  { shown, total, unit, head, kept, whole }: Listing,
): Promise<unknown> {
  const metadata = { matches, files: fileCount, ...(incomplete === undefined ? {} : { incomplete }) }
  const warning = incomplete === undefined ? '' : `\nIncomplete: ${incomplete}`
  if (matches === 0) return outputEnvelope(`No matches found for pattern: ${pattern}${warning}`, metadata)
  const inAll = `${incomplete === undefined ? '' : 'at least '}${matches} match(es) in ${fileCount} file(s)`
  if (shown >= total) return outputEnvelope(`${head}\n\n${inAll}${warning}`, metadata)
  return spilledOutput(context, {
    label: 'grep',
    total,
    metadata,
    whole,
    head: (path) => {
      const more = path === undefined ? '' : ` The first ${kept} are in ${path}.`
      return `${head}\n\nFound ${inAll} (output truncated: the first ${shown} ${unit} are shown).${more} Narrow it with path, glob or a longer pattern.${warning}`
    },
  })
}

function firstMatches(all: readonly GrepLine[], limit: number, after: number): readonly GrepLine[] {
  let matches = 0
  let last: GrepLine | undefined
  const end = all.findIndex((line) => {
    if (line.match) {
      matches += 1
      if (matches <= limit) last = line
      return matches > limit
    }
    return matches >= limit && (line.path !== last?.path || line.line > last.line + after)
  })
  return end < 0 ? all : all.slice(0, end)
}

function countMatches(all: readonly GrepLine[]): number {
  return all.reduce((sum, { match }) => sum + (match ? 1 : 0), 0)
}

function linesText(all: readonly GrepLine[], withContext: boolean): string {
  const shown: string[] = []
  let previous: GrepLine | undefined
  let name = ''
  for (const line of all) {
    const sameFile = previous?.path === line.path
    if (!sameFile) name = pathText(line.path)
    if (withContext && previous !== undefined && !(sameFile && line.line === previous.line + 1))
      shown.push('--')
    shown.push(`${line.match ? '>' : ' '}${name}:${line.line}: ${line.text}`)
    previous = line
  }
  return shown.join('\n')
}
