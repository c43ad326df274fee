import { type Call, type ExpandedCall, expandCall, type JudgedSubject, type PathSubject } from './call.js'
import { type Authority, limitsOf } from './decide.js'
import { readableResults } from './judge.js'
import type { RuleBook } from './rule-book.js'

/** Finds a file below a directory; undefined for anything that is not a directory. */
export type FindBelow = (directory: string, fits: (path: string) => boolean) => Promise<string | undefined>

/**
 * Adds to the call the directories that a command names and that contain a file that must not be read. An unknown
 * program can read a whole directory, so such a command needs approval.
 */
export function withContainedFiles(
  expanded: ExpandedCall,
  authority: Authority,
  findBelow: FindBelow | undefined,
): ExpandedCall | Promise<ExpandedCall> {
  if (findBelow === undefined || !expanded.subjects.some(isReadTree)) return expanded
  const books = [authority.book, ...limitsOf(authority)].filter((book) => book.restrictsReading)
  return books.length === 0 ? expanded : findContained(expanded, books, findBelow)
}

async function findContained(
  expanded: ExpandedCall,
  books: readonly RuleBook[],
  findBelow: FindBelow,
): Promise<ExpandedCall> {
  const directories = new Set(expanded.subjects.filter(isReadTree).map(({ path }) => path.path))
  const fits = unreadable(books, expanded.call)
  const held = new Map<string, string>()
  for (const directory of directories) {
    const found = await findBelow(directory, fits)
    if (found !== undefined) held.set(directory, found)
  }
  return held.size === 0 ? expanded : expandCall({ ...expanded.call, held }, expanded.scope)
}

function isReadTree(subject: JudgedSubject): subject is PathSubject {
  return subject.kind === 'path' && subject.tree === true && subject.fs === 'read'
}

function unreadable(books: readonly RuleBook[], call: Call): (path: string) => boolean {
  const readable = books.map((book) => readableResults(book, call))
  return (path) => readable.some((may) => !may(path))
}
