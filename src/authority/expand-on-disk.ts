import { type Call, type ExpandedCall, expandCall } from './call.js'
import { type PathFacts, pathFactsKey } from './path-facts.js'
import type { Scope } from './scope.js'

/** Functions that resolve paths on the disk. */
export type PathLookup = {
  /** Resolves a path of a tool inside the workspace; undefined when it is outside or cannot be determined. */
  readonly realPath?: ((path: string) => Promise<string | undefined>) | undefined
  /** Resolves a path of a command, wherever it leads. Absent: `realPath` is used. */
  readonly followLinks?: ((path: string, follow: boolean) => Promise<PathFacts>) | undefined
}

/**
 * Splits a call into subjects, with its paths resolved on the disk. A tool works through the workspace's files, which
 * deny paths that lead outside. A command has no such limit, so the targets of its paths are judged wherever they
 * are.
 */
export function expandOnDisk(
  call: Call,
  scope: Scope,
  lookup: PathLookup,
): ExpandedCall | Promise<ExpandedCall> {
  // Earlier results may be outdated.
  const expanded = expandCall(call.pathFacts === undefined ? call : { ...call, pathFacts: undefined }, scope)
  const namesPaths =
    expanded.possiblePaths.length > 0 || expanded.subjects.some(({ kind }) => kind === 'path')
  // Most tools of hosts and servers name no path: their calls need no promise.
  return namesPaths ? withPathFacts(expanded, call, scope, lookup) : expanded
}

async function withPathFacts(
  expanded: ExpandedCall,
  call: Call,
  scope: Scope,
  { realPath, followLinks }: PathLookup,
): Promise<ExpandedCall> {
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

/** The origins of paths that a command opens; the other origins exist only for restrictions. */
const opened: readonly string[] = ['redirection', 'argument', 'mention']

function above(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
