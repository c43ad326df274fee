import type { PathSubject } from './call.js'
import { preparePath } from './path-pattern.js'

/** Facts from the disk about a path. */
export type PathFacts = {
  /** The target of the path through all links; absent: it cannot be determined. */
  readonly real?: string | undefined
  /** The number of names (hard links) of the regular file at the path. */
  readonly hardLinks?: number | undefined
  /** Whether there is a directory at the path. */
  readonly directory?: boolean | undefined
}

/** Returns the key of a path subject in `Call.pathFacts`. */
export function pathFactsKey({ fs, written, entry }: PathSubject): string {
  return `${fs} ${entry ?? ''} ${written}`
}

/** Adds the facts from the disk to a path. The target of its links is judged as well: it is opened (SEC-012). */
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

/** File tools replace a file; a command writes into it, so the new content appears under all of its names. */
function sharedFile({ fs, origin, entry }: PathSubject, { hardLinks = 1 }: PathFacts): { doubt?: string } {
  const written = fs === 'write' && entry === undefined && (origin === 'redirection' || origin === 'argument')
  if (!written || hardLinks < 2) return {}
  return {
    doubt: `the file has ${hardLinks} names (hard links), and one of them may lie outside the workspace; the tool "write" replaces the file under this name alone`,
  }
}
