import type { GrepLine, GrepOutcome, GrepRequest } from '../../tool/runtime.js'

export type GrepCollector = {
  /** Starts the matches of one file, until `close`. Returns false if they are not needed. */
  open(path: string): boolean
  /** Whether the text of the next match (or of its context) would be stored; if not, counting it is enough. */
  wantsText(): boolean
  match(line: number, text: string): void
  context(line: number, text: string): void
  count(matches: number): void
  /** Drops the open file, because it is binary. */
  discard(): void
  close(): void
  /** Whether there are so many matches that counting further is not useful. */
  full(): boolean
  outcome(incomplete: string | undefined): GrepOutcome
}

type FileFindings = { readonly path: string; count: number; kept: number; readonly lines: GrepLine[] }

/** Above this number of matches a search reports "at least", and ends. */
export const countBound = 100_000

/**
 * Stores the first `limit` matches (or files) by path while matches arrive in any order, in memory that depends on the
 * limit only: when there are enough, a file that sorts after all stored ones is counted but not stored.
 */
export function createGrepCollector(
  request: Pick<GrepRequest, 'limit' | 'mode' | 'after'>,
  accepts: (path: string) => boolean,
): GrepCollector {
  const inFiles = request.mode === 'files' || request.mode === 'count'
  const limit = Math.max(0, request.limit)
  const files: FileFindings[] = []
  let keptUnits = 0
  let matches = 0
  let fileCount = 0
  let current: FileFindings | undefined
  let keeping = false

  const unitsOf = (file: FileFindings) => (inFiles ? 1 : file.kept)
  const close = () => {
    if (current === undefined || current.count === 0) {
      current = undefined
      return
    }
    fileCount += 1
    if (keeping) {
      files.splice(positionOf(files, current.path), 0, current)
      keptUnits += unitsOf(current)
      for (let last = files.at(-1); last && keptUnits - unitsOf(last) >= limit; last = files.at(-1)) {
        keptUnits -= unitsOf(last)
        files.pop()
      }
    }
    current = undefined
  }

  return {
    open(path) {
      close()
      if (!accepts(path)) return false
      current = { path, count: 0, kept: 0, lines: [] }
      keeping = limit > 0 && (keptUnits < limit || path < (files.at(-1)?.path ?? ''))
      return true
    },
    wantsText: () => keeping && !inFiles && current !== undefined && current.kept <= limit,
    match(line, text) {
      if (current === undefined) return
      matches += 1
      current.count += 1
      // One more than the limit, so that the outcome can determine where the context of the last one ends.
      if (!keeping || inFiles || current.kept > limit) return
      current.kept += 1
      current.lines.push({ path: current.path, line, text, match: true })
    },
    context(line, text) {
      if (current === undefined || !keeping || current.kept > limit) return
      current.lines.push({ path: current.path, line, text, match: false })
    },
    count(found) {
      if (current === undefined) return
      matches += found
      current.count += found
    },
    discard() {
      matches -= current?.count ?? 0
      current = undefined
    },
    close,
    full: () => matches >= countBound,
    outcome(incomplete) {
      close()
      const listed = inFiles ? files.map(({ path, count }) => ({ path, count })) : []
      const { lines, shown } = inFiles ? { lines: [], shown: 0 } : linesOf(files, limit, request.after ?? 0)
      const more = inFiles ? fileCount > listed.length : matches > shown
      return {
        lines,
        files: listed,
        matches,
        fileCount,
        truncated: more || incomplete !== undefined,
        ...(incomplete === undefined ? {} : { incomplete }),
      }
    },
  }
}

/** Returns the first `limit` matches with their context; the context of an omitted match is omitted too. */
function linesOf(
  files: readonly FileFindings[],
  limit: number,
  after: number,
): { lines: GrepLine[]; shown: number } {
  const lines: GrepLine[] = []
  let shown = 0
  for (const file of files) {
    let lastMatch = Number.NEGATIVE_INFINITY
    for (const line of file.lines) {
      if (shown === limit && (line.match || line.line > lastMatch + after)) return { lines, shown }
      lines.push(line)
      if (!line.match) continue
      shown += 1
      lastMatch = line.line
    }
    if (shown === limit) break
  }
  return { lines, shown }
}

function positionOf(files: readonly FileFindings[], path: string): number {
  let low = 0
  let high = files.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((files[middle]?.path ?? '') < path) low = middle + 1
    else high = middle
  }
  return low
}
