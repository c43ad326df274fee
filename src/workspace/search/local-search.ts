import { availableParallelism } from 'node:os'
import type { GlobOutcome, GlobRequest, GrepOutcome, GrepRequest, RuntimeSearch } from '../../tool/runtime.js'
import { checkPattern } from './check-pattern.js'
import { SearchError } from './errors.js'
import { createGlobCollector } from './glob-outcome.js'
import { createGrepCollector } from './grep-collector.js'
import { createGrepReader } from './grep-output.js'
import { incompleteText } from './incomplete.js'
import { createAncestorFilter, createPathFilter } from './path-filter.js'
import { createPathReader } from './path-output.js'
import { type RipgrepEnd, runRipgrep } from './ripgrep.js'
import { grepArgs, walkArgs } from './ripgrep-args.js'
import { findTarget, type PermitRead, type SearchTarget } from './search-target.js'

export type LocalSearchOptions = {
  readonly root: string
  /** Asked for every file before it appears in a result. */
  readonly permit: PermitRead
  readonly threads?: number
  readonly deadlineMs?: number
  /** Another ripgrep than the packaged one. */
  readonly ripgrep?: string
}

/**
 * Search on this machine: ripgrep in a process of its own, or the slower fallback where it cannot run. Obeys .gitignore (in a
 * repository or not), looks into hidden files, never into `.git`, binary files or through links, and never past its deadline.
 */
export function createLocalSearch(options: LocalSearchOptions): RuntimeSearch {
  const settings: Settings = {
    ...options,
    threads: options.threads ?? Math.min(4, availableParallelism()),
    deadlineMs: options.deadlineMs ?? 20_000,
  }
  return {
    grep: (request) =>
      orFallback(
        settings,
        (search) => search.grep(request),
        () => grep(settings, request),
      ),
    glob: (request) =>
      orFallback(
        settings,
        (search) => search.glob(request),
        () => glob(settings, request),
      ),
  }
}

type Settings = LocalSearchOptions & { readonly threads: number; readonly deadlineMs: number }

async function grep(settings: Settings, request: GrepRequest): Promise<GrepOutcome> {
  checkPattern(request.pattern)
  const target = findTarget(settings.root, request.path, settings.permit)
  const filter = createPathFilter(target, request.glob, settings.permit)
  const collector = createGrepCollector(request, withAncestors(target, filter.accepts))
  const inFiles = request.mode === 'files' || request.mode === 'count'
  const onOutput = createGrepReader(collector, inFiles ? 'counts' : 'lines', (path) => rooted(target, path))
  const args = [...walkArgs(target, filter.names), ...grepArgs(request), '--', '.']
  const end = await run(settings, target, args, request.signal, onOutput)
  if (end.exitCode === 2 && end.errorText !== '') throw patternError(request.pattern, end.errorText)
  return collector.outcome(incompleteText(reasonOf(end), settings.deadlineMs))
}

async function glob(settings: Settings, request: GlobRequest): Promise<GlobOutcome> {
  const target = findTarget(settings.root, request.path, settings.permit)
  const filter = createPathFilter(target, request.pattern, settings.permit)
  const accepts = withAncestors(target, filter.accepts)
  const collector = createGlobCollector(target.root, request, settings.deadlineMs)
  const onOutput = createPathReader((shown) => {
    const path = rooted(target, shown)
    if (accepts(path)) collector.add(path)
  })
  const args = [...walkArgs(target, filter.names), '--files', '--null', '--', '.']
  const end = await run(settings, target, args, request.signal, onOutput)
  if (end.exitCode === 2 && end.errorText !== '') throw failed(end.errorText)
  return collector.outcome(incompleteText(reasonOf(end), settings.deadlineMs))
}

function run(
  settings: Settings,
  target: SearchTarget,
  args: readonly string[],
  signal: AbortSignal | undefined,
  onOutput: (chunk: Buffer) => boolean,
): Promise<RipgrepEnd> {
  return runRipgrep(args, {
    cwd: target.directory,
    signal,
    deadlineMs: settings.deadlineMs,
    maxThreads: settings.threads,
    onOutput,
    ...(settings.ripgrep === undefined ? {} : { binary: settings.ripgrep }),
  })
}

async function orFallback<T>(
  settings: Settings,
  fallback: (search: RuntimeSearch) => Promise<T>,
  search: () => Promise<T>,
): Promise<T> {
  try {
    return await search()
  } catch (thrown) {
    if (!(thrown instanceof SearchError) || thrown.code !== 'search_unavailable') throw thrown
    const { createFallbackSearch } = await import('./fallback-search.js')
    return fallback(createFallbackSearch(settings))
  }
}

/** `./a/b` as ripgrep shows it, from the root. */
function rooted(target: SearchTarget, shown: string): string {
  const below = shown.startsWith('./') ? shown.slice(2) : shown
  return `${target.prefix}${process.platform === 'win32' ? below.replaceAll('\\', '/') : below}`
}

function withAncestors(target: SearchTarget, accepts: (path: string) => boolean): (path: string) => boolean {
  const keeps = createAncestorFilter(target)
  return keeps === undefined ? accepts : (path) => keeps(path) && accepts(path)
}

function reasonOf(end: RipgrepEnd): 'deadline' | 'aborted' | 'enough' | 'unreadable' | undefined {
  return end.stopped ?? (end.exitCode === 2 ? 'unreadable' : undefined)
}

function patternError(pattern: string, errorText: string): SearchError {
  if (!errorText.includes('regex') && !errorText.includes('literal')) return failed(errorText)
  const lines = errorText.split('\n').map((line) => line.trim())
  const reason =
    lines.findLast((line) => line.startsWith('error:'))?.slice(6) ?? lines[0]?.replace('rg: ', '')
  return new SearchError(
    'search_pattern_invalid',
    `The pattern ${JSON.stringify(pattern.slice(0, 200))} is not a valid regular expression: ${(reason ?? '').trim()}. ` +
      'To search for the text itself, escape special characters with a backslash.',
  )
}

function failed(errorText: string): SearchError {
  return new SearchError('search_failed', `The search failed: ${errorText.trim().slice(0, 300)}`)
}
