import type { PathSubject } from './call.js'
import { preparePath } from './path-pattern.js'

/** What the disk says of a path. */
export type PathFacts = {
  /** Where the path leads through every link; absent: that cannot be determined. */
  readonly real?: string | undefined
  /** How many names the regular file at the path has. */
  readonly hardLinks?: number | undefined
  /** There is a directory at the path. */
  readonly directory?: boolean | undefined
}

/** What a path subject is found under in `Call.pathFacts`. */
export function pathFactsKey({ fs, written, entry }: PathSubject): string {
  return `${fs} ${entry ?? ''} ${written}`
}

/** A path with what the disk says of it. Where it leads through links is judged as well: that is what will be opened (SEC-012). */
export function withFacts(
  subject: PathSubject,
  known: ReadonlyMap<string, PathFacts>,
  isInside: (path: string) => boolean,
): PathSubject[] {
  const facts = known.get(pathFactsKey(subject))
  if (facts === undefined) return [subject]
  const { real } = facts
  if (real === undefined)
    return [{ ...subject, doubt: subject.doubt ?? 'where its links lead cannot be determined' }]
  const shared = sharedFile(subject, facts)
  if (real === subject.path.path) return [{ ...subject, ...shared }]
  return [
    { ...subject, leadsTo: real },
    { ...subject, path: preparePath(real), written: real, inside: isInside(real), ...shared },
  ]
}

/** The file tools replace a file, a command writes into it: the new content appears under all of its names. */
function sharedFile({ fs, origin, entry }: PathSubject, { hardLinks = 1 }: PathFacts): { doubt?: string } {
  const written = fs === 'write' && entry === undefined && (origin === 'redirection' || origin === 'argument')
  if (!written || hardLinks < 2) return {}
  return {
    doubt: `the file has ${hardLinks} names (hard links), and one of them may lie outside the workspace; the tool "write" replaces the file under this name alone`,
  }
}
