import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GlobOutcome, GlobRequest, GrepOutcome, GrepRequest, RuntimeSearch } from '../../tool/runtime.js'
import { checkPattern } from './check-pattern.js'
import { SearchError } from './errors.js'
import { createGlobCollector } from './glob-outcome.js'
import { createGrepCollector } from './grep-collector.js'
import { createGrepReader } from './grep-output.js'
import { incompleteText } from './incomplete.js'
import { tickMs, watchForMoves } from './move-watch.js'
import { createAncestorFilter, createPathFilter } from './path-filter.js'
import { type RipgrepEnd, runRipgrep } from './ripgrep.js'
import { grepArgs, walkArgs } from './ripgrep-args.js'
import { type OpenTarget, type PermitRead, type SearchTarget, withTarget } from './search-target.js'

export type LocalSearchOptions = {
  readonly root: string
  /** Called for every file before it appears in a result. */
  readonly permit: PermitRead
  readonly threads?: number | undefined
  readonly deadlineMs?: number | undefined
  /** The path of a ripgrep that replaces the packaged one. */
  readonly ripgrep?: string | undefined
}

/**
 * Searches on this machine with ripgrep in a separate process, or with the slower fallback where ripgrep cannot run.
 * Respects .gitignore (in a repository or not), includes hidden files, never enters `.git`, reads binary files or
 * follows links, and never exceeds its deadline.
 */
export function createLocalSearch(options: LocalSearchOptions): RuntimeSearch {
  const settings: Settings = {
    ...options,
    threads: options.threads ?? usualThreads,
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

// Read once: every call creates a search, and most never use it.
const usualThreads = Math.min(4, availableParallelism())

type Settings = LocalSearchOptions & { readonly threads: number; readonly deadlineMs: number }

/** Returns undefined when files were moved during the search. */
async function grep(settings: Settings, request: GrepRequest): Promise<GrepOutcome | undefined> {
  checkPattern(request.pattern)
  const { permit, deadlineMs } = settings
  return withTarget(settings.root, request.path, permit, (target) => {
    const filter = createPathFilter(target, request.glob, permit)
    const accepts = withAncestors(target, filter.accepts)
    const inFiles = request.mode === 'files' || request.mode === 'count'
    const args = [...walkArgs(target, filter.names), ...grepArgs(request), '--', '.']
    return whileSteady(settings, target, async (note, left) => {
      const collector = createGrepCollector(request, noting(note, accepts))
      const onOutput = createGrepReader(collector, inFiles ? 'counts' : 'lines', (path) =>
        rooted(target, path),
      )
      const end = await run(settings, target, args, left, request.signal, onOutput)
      if (end.exitCode === 2 && end.errorText !== '') throw patternError(request.pattern, end.errorText)
      const why = incompleteText(reasonOf(end), deadlineMs)
      const empty = async () => createGrepCollector(request, accepts).outcome(why)
      return { outcome: collector.outcome(why), stopped: end.stopped, empty }
    })
  })
}

async function glob(settings: Settings, request: GlobRequest): Promise<GlobOutcome | undefined> {
  const { permit, deadlineMs } = settings
  return withTarget(settings.root, request.path, permit, (target) => {
    const filter = createPathFilter(target, request.pattern, permit)
    const args = [...walkArgs(target, filter.names), '--files', '--null', '--', '.']
    return whileSteady(settings, target, async (note, left) => {
      const accepts = noting(note, withAncestors(target, filter.accepts))
      const collector = createGlobCollector(target, request, deadlineMs)
      const onOutput = createPathReader((shown) => {
        const path = rooted(target, shown)
        if (accepts(path)) collector.add(path)
      })
      const end = await run(settings, target, args, left, request.signal, onOutput)
      if (end.exitCode === 2 && end.errorText !== '') throw failed(end.errorText)
      const why = incompleteText(reasonOf(end), deadlineMs)
      const empty = () => createGlobCollector(target, request, deadlineMs).outcome(why)
      return { outcome: await collector.outcome(why), stopped: end.stopped, empty }
    })
  })
}

type Attempt<T> = {
  readonly outcome: T
  readonly stopped: RipgrepEnd['stopped']
  /** The outcome of a search that was stopped before it found anything. */
  readonly empty: () => Promise<T>
}

/**
 * Runs a search, and repeats it once when files were moved in the meantime: the output of ripgrep may then be about
 * other files (see `startSteady`). Returns undefined when files were moved again; the fallback, which uses handles, is
 * for that case.
 */
async function whileSteady<T>(
  settings: Settings,
  target: OpenTarget,
  search: (note: (path: string) => void, leftMs: number) => Promise<Attempt<T>>,
): Promise<T | undefined> {
  const began = performance.now()
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const steady = await watchForMoves(target)
    const left = settings.deadlineMs - (performance.now() - began)
    const { outcome, stopped, empty } = await search(steady.note, Math.max(1, left))
    if (await steady.holds()) return outcome
    if (stopped === 'deadline' || stopped === 'aborted') return empty()
    await sleep(tickMs)
  }
  return undefined
}

function noting(note: (path: string) => void, accepts: (path: string) => boolean): (path: string) => boolean {
  return (path) => {
    if (!accepts(path)) return false
    note(path)
    return true
  }
}

function run(
  settings: Settings,
  target: OpenTarget,
  args: readonly string[],
  deadlineMs: number,
  signal: AbortSignal | undefined,
  onOutput: (chunk: Buffer) => boolean,
): Promise<RipgrepEnd> {
  return runRipgrep(args, {
    cwd: target.at,
    signal,
    deadlineMs,
    maxThreads: settings.threads,
    onOutput,
    ...(settings.ripgrep === undefined ? {} : { binary: settings.ripgrep }),
  })
}

async function orFallback<T>(
  settings: Settings,
  fallback: (search: RuntimeSearch) => Promise<T>,
  search: () => Promise<T | undefined>,
): Promise<T> {
  const began = performance.now()
  const outcome = await search().catch((thrown: unknown) => {
    if (!(thrown instanceof SearchError) || thrown.code !== 'search_unavailable') throw thrown
    return 'unavailable' as const
  })
  if (outcome !== undefined && outcome !== 'unavailable') return outcome
  const { createFallbackSearch } = await import('./fallback-search.js')
  const deadlineMs = Math.max(1, Math.round(settings.deadlineMs - (performance.now() - began)))
  return fallback(createFallbackSearch({ ...settings, deadlineMs })).catch((thrown: unknown) => {
    // Ripgrep accepted the pattern, so the pattern is not the problem.
    const refused = thrown instanceof SearchError && thrown.code === 'search_pattern_invalid'
    throw refused && outcome === undefined ? restless(thrown) : thrown
  })
}

/** Converts `./a/b`, as ripgrep prints it, to a path from the root. */
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
    `Invalid regex pattern '${pattern.slice(0, 200)}': ${(reason ?? '').trim()}. ` +
      'To search for the text itself, escape special characters with a backslash.',
  )
}

function restless(cause: unknown): SearchError {
  const words = 'Files are being moved about in the searched directory. Search again, or search a part of it.'
  return new SearchError('search_failed', words, { cause })
}

function failed(errorText: string): SearchError {
  return new SearchError('search_failed', `The search failed: ${errorText.trim().slice(0, 300)}`)
}

/** Parses paths that each end with NUL, chunk by chunk. Names that are not UTF-8 are skipped: no tool can use them. */
function createPathReader(onPath: (path: string) => void): (chunk: Buffer) => boolean {
  let held: Buffer | undefined
  return (chunk) => {
    const data = held === undefined ? chunk : Buffer.concat([held, chunk])
    const end = data.lastIndexOf(0)
    held = end === data.length - 1 ? undefined : data.subarray(end + 1)
    if (end < 0) return true
    const text = data.toString('utf8', 0, end)
    const paths = text.split('\0')
    for (const path of text.includes('\uFFFD') ? paths.filter((each) => !each.includes('\uFFFD')) : paths)
      onPath(path)
    return true
  }
}
