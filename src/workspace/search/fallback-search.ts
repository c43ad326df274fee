import type { Dirent } from 'node:fs'
import type { GlobOutcome, GlobRequest, GrepOutcome, GrepRequest, RuntimeSearch } from '../../tool/runtime.js'
import { entriesIfReadable } from '../if-readable.js'
import { checkPattern } from './check-pattern.js'
import { inDirectory, withExactDirectory } from './exact-path.js'
import { createIgnoreTree } from './gitignore.js'
import { createGlobCollector } from './glob-outcome.js'
import { createGrepCollector, type GrepCollector } from './grep-collector.js'
import { type CutShort, incompleteText } from './incomplete.js'
import { lineText, maxHeldBytes } from './line-text.js'
import type { NewestTarget } from './newest-first.js'
import { createPathFilter } from './path-filter.js'
import { startRegexThread } from './regex-thread.js'
import type { WorkerAnswer } from './regex-worker.js'
import { translateRegex } from './rust-regex.js'
import { findTarget, type PermitRead, type SearchTarget } from './search-target.js'

export type FallbackSearchOptions = {
  readonly root: string
  readonly permit: PermitRead
  readonly deadlineMs?: number | undefined
}

/**
 * Searches without ripgrep, with the same results, about three times slower. It is hand-written because ripgrep opens
 * files by path: while another process replaces directories by links, its results must be discarded (`move-watch.ts`),
 * and this search, which opens each directory and file by handle, still works (SEC-011, SEC-025). The pattern runs in a
 * separate thread that ends at the deadline, because JavaScript's engine can take exponential time on one line.
 */
export function createFallbackSearch({ root, permit, deadlineMs }: FallbackSearchOptions): RuntimeSearch {
  return createSearchOver(
    (path) => {
      const target = findTarget(root, path, permit)
      return {
        target,
        exact: target.method === 'handle',
        files: (onUnreadable) => walk(target, onUnreadable),
        content: (file) => inDirectory(target.root, file),
      }
    },
    permit,
    deadlineMs,
  )
}

/** The target of one search, and how its files are read. */
export type SearchSource = {
  readonly target: NewestTarget
  /** Whether the thread checks that a path leads to exactly the file that it opens. */
  readonly exact: boolean
  /** Yields the files of a directory to search, relative to the root, in batches. */
  files(onUnreadable: () => void): AsyncGenerator<readonly string[]>
  /** Returns the bytes of a file, or the path from which the thread reads them; undefined when it cannot be read. */
  content(file: string): string | Promise<Uint8Array | undefined>
}

type OpenSource = (path: string | undefined) => SearchSource | Promise<SearchSource>

/** Creates a search over any source of files. */
export function createSearchOver(open: OpenSource, permit: PermitRead, deadlineMs = 20_000): RuntimeSearch {
  return {
    grep: (request) => grep(open, permit, deadlineMs, request),
    glob: (request) => glob(open, permit, deadlineMs, request),
  }
}

/** Returns the files to search, in batches: those of the directory, or the one file that the request names. */
function filesOf(
  source: SearchSource,
  onUnreadable: () => void,
): AsyncIterable<readonly string[]> | Iterable<readonly string[]> {
  const { prefix, fileName } = source.target
  return fileName === undefined ? source.files(onUnreadable) : [[`${prefix}${fileName}`]]
}

async function grep(
  open: OpenSource,
  permit: PermitRead,
  deadlineMs: number,
  request: GrepRequest,
): Promise<GrepOutcome> {
  checkPattern(request.pattern)
  const regex = translateRegex(request.pattern, request.ignoreCase ?? false)
  const source = await open(request.path)
  const filter = createPathFilter(source.target, request.glob, permit)
  const collector = createGrepCollector(request, () => true)
  const cut = startCut(deadlineMs, request.signal)
  const thread = await startRegexThread(
    { ...regex, maxLine: maxHeldBytes, exact: source.exact },
    cut.happened,
  )
  const inFiles = request.mode === 'files' || request.mode === 'count'
  const asked = {
    keep: inFiles ? 0 : request.limit + 1,
    before: request.before ?? 0,
    after: request.after ?? 0,
  }
  let unreadable = false
  const search = async (paths: readonly string[]): Promise<boolean> => {
    const files = await Promise.all(paths.map((path) => source.content(path)))
    const answer = await thread.search({ files: files.map((file) => file ?? null), ...asked })
    if (answer === undefined) return false
    unreadable ||= answer.includes(null)
    collect(collector, paths, answer, inFiles)
    return true
  }
  try {
    const files = filesOf(source, () => {
      unreadable = true
    })
    for await (const batch of files) {
      if (cut.reason() !== undefined || collector.full()) break
      const paths = batch.filter(filter.accepts)
      if (paths.length > 0 && !(await search(paths))) break
    }
  } finally {
    cut.release()
    await thread.close()
  }
  const reason: CutShort | undefined =
    cut.reason() ?? (collector.full() ? 'enough' : unreadable ? 'unreadable' : undefined)
  return collector.outcome(incompleteText(reason, deadlineMs))
}

async function glob(
  open: OpenSource,
  permit: PermitRead,
  deadlineMs: number,
  request: GlobRequest,
): Promise<GlobOutcome> {
  const source = await open(request.path)
  const filter = createPathFilter(source.target, request.pattern, permit)
  const cut = startCut(deadlineMs, request.signal)
  const collector = createGlobCollector(source.target, request, deadlineMs)
  let unreadable = false
  try {
    const files = filesOf(source, () => {
      unreadable = true
    })
    for await (const batch of files) {
      if (cut.reason() !== undefined) break
      for (const path of batch) if (filter.accepts(path)) collector.add(path)
    }
  } finally {
    cut.release()
  }
  const reason = cut.reason() ?? (unreadable ? 'unreadable' : undefined)
  return collector.outcome(incompleteText(reason, deadlineMs))
}

function collect(
  collector: GrepCollector,
  paths: readonly string[],
  answer: WorkerAnswer,
  inFiles: boolean,
): void {
  for (const [index, path] of paths.entries()) {
    const found = answer[index]
    if (found === undefined || found === null || found.count === 0) continue
    collector.open(path)
    let shown = 0
    for (const { line, at, bytes } of found.lines) {
      const text = collector.wantsText() ? lineText(Buffer.from(bytes), Math.max(0, at)) : ''
      if (at < 0) {
        collector.context(line, text)
      } else {
        collector.match(line, text)
        shown += 1
      }
    }
    collector.count(inFiles ? found.count : found.count - shown)
    collector.close()
  }
}

/** Watches for the two events that can end a search early: the deadline and the caller's signal. */
function startCut(deadlineMs: number, signal: AbortSignal | undefined) {
  let reason: CutShort | undefined
  let resolve: () => void = () => undefined
  const happened = new Promise<void>((done) => {
    resolve = done
  })
  const cut = (why: CutShort) => {
    reason ??= why
    resolve()
  }
  const onAbort = () => cut('aborted')
  const timer = setTimeout(() => cut('deadline'), deadlineMs)
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  return {
    happened,
    reason: () => reason,
    release() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    },
  }
}

const entriesPerTurn = 512

/**
 * Yields the files that ripgrep would search, relative to the root, in batches, and yields to other work between them.
 * Links are not followed, and only regular files are included.
 */
async function* walk(target: SearchTarget, onUnreadable: () => void): AsyncGenerator<readonly string[]> {
  const ignored = createIgnoreTree(target.repository ?? target.root, {
    repository: target.repository !== undefined,
  })
  const open = [{ directory: target.directory, prefix: target.prefix }]
  let batch: string[] = []
  let seen = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesOf(target, at.directory, onUnreadable)) {
      seen += 1
      const { name } = entry
      if (name === '.git' || name.includes('\uFFFD')) continue
      if (!entry.isFile() && !entry.isDirectory()) continue
      if (ignored.ignores(at.directory, name, entry.isDirectory())) continue
      if (entry.isFile()) batch.push(`${at.prefix}${name}`)
      else open.push({ directory: inDirectory(at.directory, name), prefix: `${at.prefix}${name}/` })
    }
    if (seen < entriesPerTurn) continue
    yield batch
    batch = []
    seen = 0
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  yield batch
}

/** Lists the directory at exactly this path: a link that replaced it since it was listed is not followed. */
function entriesOf(target: SearchTarget, directory: string, onUnreadable: () => void): Dirent[] {
  const entries = withExactDirectory(target.method, directory, entriesIfReadable)
  if (entries === undefined) onUnreadable()
  return entries ?? []
}
