import { PathInvalidError, PathOutsideError } from './errors.js'
import {
  joinParts,
  type PathParts,
  type PathStyle,
  sameName,
  splitAbsolute,
  splitNames,
  withoutDots,
} from './path-style.js'

/** A directory that paths can be in. `path` is its real path; `given` is the path that the host passed. */
export type Root = {
  readonly kind: 'workspace' | 'additional' | 'scratch'
  readonly path: string
  readonly given: string
}

/** All roots of a session. `roots` is called at each use: the scratch directory is created when first needed. */
export type Area = { readonly style: PathStyle; readonly workspace: Root; roots(): readonly Root[] }

declare const contained: unique symbol

/**
 * A path that is in a root according to its text. Links on the way are not resolved; only opening it does that
 * (`open-entry.ts`). Only `containPath` creates values of this type.
 */
export type ContainedPath = {
  readonly [contained]: true
  readonly asWritten: string
  readonly root: Root
  /** The names below the root; none for the root itself. */
  readonly names: readonly string[]
  readonly absolute: string
}

// The limits of Linux. Other systems allow more in some cases, but a path must work on every machine.
const maxPathBytes = 4096
const maxNameBytes = 255

/** Resolves a path against the workspace root, by its text alone, and rejects a path that is in no root. */
export function containPath(area: Area, path: string): ContainedPath {
  const problem = textProblem(area.style, path)
  if (problem !== undefined) throw new PathInvalidError(path, problem)
  const match = matchRoot(area, absoluteParts(area, path), (root) => [root.path, root.given])
  if (match === undefined) throw new PathOutsideError(path)
  const base = partsOf(area.style, match.root.path)
  const absolute = joinParts(area.style, { start: base.start, names: [...base.names, ...match.names] })
  if (byteLength(absolute) >= maxPathBytes) throw new PathInvalidError(path, tooLong)
  return { asWritten: path, ...match, absolute } as ContainedPath
}

export type RootMatch = { readonly root: Root; readonly names: readonly string[] }

/** Returns the root that a real path is in, and the names below it; undefined when it is in none. */
export function rootOfReal(area: Area, realPath: string): RootMatch | undefined {
  const parts = splitAbsolute(area.style, realPath)
  return parts && matchRoot(area, parts, (root) => [root.path])
}

function absoluteParts(area: Area, path: string): PathParts {
  const absolute = splitAbsolute(area.style, path)
  if (absolute !== undefined) return { start: absolute.start, names: withoutDots(absolute.names) }
  const base = partsOf(area.style, area.workspace.path)
  return { start: base.start, names: withoutDots([...base.names, ...splitNames(area.style, path)]) }
}

function matchRoot(area: Area, parts: PathParts, spellings: (root: Root) => string[]): RootMatch | undefined {
  if (isSystemTree(area, parts.names)) return undefined
  let best: RootMatch | undefined
  for (const root of area.roots()) {
    for (const spelling of spellings(root)) {
      const names = below(area.style, partsOf(area.style, spelling), parts)
      if (names !== undefined && (best === undefined || isPreferred(root, best.root))) best = { root, names }
    }
  }
  return best
}

/** Returns the names of `inner` below `outer`. Compared name by name: `/w-evil` is not in `/w`. */
function below(style: PathStyle, outer: PathParts, inner: PathParts): readonly string[] | undefined {
  if (outer.start !== inner.start || outer.names.length > inner.names.length) return undefined
  const same = outer.names.every((name, index) => sameName(style, name, inner.names[index] ?? ''))
  return same ? inner.names.slice(outer.names.length) : undefined
}

/** Scratch takes precedence; otherwise the outermost root, so that a nested root does not hide a `.git` above it. */
function isPreferred(root: Root, best: Root): boolean {
  if ((root.kind === 'scratch') !== (best.kind === 'scratch')) return root.kind === 'scratch'
  return root.path.length < best.path.length
}

function partsOf(style: PathStyle, absolute: string): PathParts {
  return splitAbsolute(style, absolute) ?? { start: style.separator, names: [] }
}

// With `/` as a root these would be inside it, but they are not files: they expose the kernel, other processes and the
// devices.
const systemTrees = ['proc', 'sys', 'dev']

function isSystemTree(area: Area, names: readonly string[]): boolean {
  const first = names[0]
  if (area.style.separator !== '/' || first === undefined || !systemTrees.includes(first)) return false
  return !area.roots().some((root) => splitAbsolute(area.style, root.path)?.names[0] === first)
}

const tooLong = `it is longer than ${maxPathBytes - 1} bytes; use a shorter path`

function textProblem(style: PathStyle, path: string): string | undefined {
  if (path === '') return 'it is empty; use "." for the workspace root'
  if (path.includes('\0')) return 'it contains a NUL character; remove it'
  // Half a surrogate pair becomes a replacement character when it is written to the disk, where it names another file.
  if (/\p{Surrogate}/u.test(path)) return 'it is not well-formed Unicode; write it again'
  const bytes = byteLength(path)
  if (bytes >= maxPathBytes) return tooLong
  if (bytes > maxNameBytes && splitNames(style, path).some((name) => byteLength(name) > maxNameBytes)) {
    return `a name in it is longer than ${maxNameBytes} bytes; use a shorter one`
  }
  return style.separator === '\\' ? windowsProblem(path, splitNames(style, path)) : undefined
}

function windowsProblem(path: string, names: readonly string[]): string | undefined {
  if (/^[\\/]/.test(path))
    return 'network, device and drive-less absolute paths are not supported; write it relative to the workspace'
  const plain = /^[A-Za-z]:[\\/]/.test(path) ? names.slice(1) : names
  for (const name of plain) {
    if (name === '.' || name === '..') continue
    // A colon opens an alternate stream of a file, and Windows drops trailing dots and spaces: both produce a name that
    // was not checked.
    if (/[<>:"|?*]/.test(name)) return 'a name in it holds one of < > : " | ? *'
    if (/[. ]$/.test(name)) return 'a name in it ends in a dot or a space'
    if (/^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?:\.|$)/i.test(name))
      return 'a name in it is reserved for a device'
  }
  return undefined
}

function byteLength(text: string): number {
  return Buffer.byteLength(text)
}
