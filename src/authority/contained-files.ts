import { type Call, type ExpandedCall, expandCall } from './call.js'
import { type Authority, limitsOf } from './decide.js'
import { readableResults } from './judge.js'
import type { RuleBook } from './rule-book.js'

/** Looks for a file below a directory; what is no directory has none. */
export type FindBelow = (directory: string, fits: (path: string) => boolean) => Promise<string | undefined>

/**
 * The call with what only the disk can tell: which of the directories that a command names hold a file that must not be read. A
 * program about which nothing is known may read all of a directory, so such a command is asked about.
 */
export async function withContainedFiles(
  expanded: ExpandedCall,
  authority: Authority,
  findBelow: FindBelow | undefined,
): Promise<ExpandedCall> {
  const books = [authority.book, ...limitsOf(authority)].filter((book) => book.restrictsReading)
  if (findBelow === undefined || books.length === 0) return expanded
  const directories = new Set(
    expanded.subjects.flatMap((subject) =>
      subject.kind === 'path' && subject.tree && subject.fs === 'read' ? [subject.path.path] : [],
    ),
  )
  if (directories.size === 0) return expanded
  const fits = unreadable(books, expanded.call)
  const held = new Map<string, string>()
  for (const directory of directories) {
    const found = await findBelow(directory, fits)
    if (found !== undefined) held.set(directory, found)
  }
  return held.size === 0 ? expanded : expandCall({ ...expanded.call, held }, expanded.scope)
}

function unreadable(books: readonly RuleBook[], call: Call): (path: string) => boolean {
  const readable = books.map((book) => readableResults(book, call))
  return (path) => readable.some((may) => !may(path))
}
