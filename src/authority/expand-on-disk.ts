import { type Call, type ExpandedCall, expandCall } from './call.js'
import { type PathFacts, pathFactsKey } from './path-facts.js'
import type { Scope } from './scope.js'

/** How the disk is asked where paths lead. */
export type PathLookup = {
  /** Where a path that a tool names leads inside the workspace; undefined when it leads out or cannot be determined. */
  readonly realPath?: ((path: string) => Promise<string | undefined>) | undefined
  /** Where a path that a command names leads, wherever that is. Absent: `realPath` is asked. */
  readonly followLinks?: ((path: string, follow: boolean) => Promise<PathFacts>) | undefined
}

/**
 * Takes a call apart together with where its paths really lead. A tool works through the workspace's files, which refuse what leads out
 * of it; a command is not held like that, so that where its paths lead is judged wherever it is.
 */
export async function expandOnDisk(call: Call, scope: Scope, lookup: PathLookup): Promise<ExpandedCall> {
  // What was found before may have changed.
  const expanded = expandCall({ ...call, pathFacts: undefined }, scope)
  const { realPath, followLinks } = lookup
  const facts = new Map<string, PathFacts>()
  for (const subject of [...expanded.subjects, ...expanded.possiblePaths]) {
    if (subject.kind !== 'path') continue
    if (subject.origin !== 'tool' && followLinks !== undefined) {
      if (!opened.includes(subject.origin)) continue
      if (subject.ifDirectory && !(await followLinks(above(subject.written), true)).directory) continue
      const found = await followLinks(subject.written, subject.entry !== 'removed')
      facts.set(pathFactsKey(subject), found)
    } else if (subject.inside && realPath !== undefined) {
      const real = await realPath(subject.path.path)
      if (real !== undefined && real !== subject.path.path) facts.set(pathFactsKey(subject), { real })
    }
  }
  return facts.size === 0 ? expanded : expandCall({ ...call, pathFacts: facts }, scope)
}

/** The origins of paths that a command opens; what only may be a path is there for rules that restrict. */
const opened: readonly string[] = ['redirection', 'argument', 'mention']

function above(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
