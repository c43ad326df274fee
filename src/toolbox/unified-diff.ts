import { CapstanError } from '../tool/errors.js'
import { type Hunk, isHunkHeader, readHunk } from './diff-hunk.js'
import { nothing, readGitNames, readName, refuseUnsafe, withoutPrefixes } from './diff-path.js'

/** The changes of a diff to one file. */
export type FilePatch = {
  /** The file before the change; absent: there is none, or the diff names no file at all. */
  readonly from?: string | undefined
  /** The file after the change; absent: it is removed, or the diff names no file at all. */
  readonly to?: string | undefined
  readonly change: 'modify' | 'create' | 'delete' | 'rename'
  readonly hunks: readonly Hunk[]
  /** Parts of the diff that the patch does not apply. */
  readonly notes: readonly string[]
}

/**
 * Parses a unified diff: plain, or as git writes it with creations, deletions and renames. Without headers it is one
 * patch that names no file. Text around the parts is skipped, as git does. Throws with an explanation when it is not
 * a diff, when a path in it leads out of the workspace, or when it contains changes that cannot be applied as text.
 */
export function parseDiff(diff: string): FilePatch[] {
  const lines = linesOf(diff)
  const patches: FilePatch[] = []
  let at = 0
  while (at < lines.length) {
    const header = readHeader(lines, at)
    if (header === undefined && !isHunkHeader(lines[at])) {
      refuseBinary(lines[at] ?? '')
      at++
      continue
    }
    if (header === undefined && patches.length > 0) throw problem(at, 'a hunk that belongs to no file')
    const hunks: Hunk[] = []
    at = header?.next ?? at
    for (;;) {
      while (lines[at] === '' && isHunkHeader(lines[at + 1])) at++
      if (!isHunkHeader(lines[at])) break
      const { hunk, next } = readHunk(lines, at)
      hunks.push(hunk)
      at = next
    }
    if (header !== undefined || hunks.length > 0) patches.push(patchOf(header, hunks, at))
  }
  if (patches.length === 0) throw noHunks()
  return patches
}

function noHunks(): CapstanError {
  return new CapstanError(
    'patch_parse',
    'Failed to parse diff: No @@ hunk headers found in diff. Send a unified diff: "@@ -1,3 +1,4 @@", then lines that begin with a space, "-" or "+".',
  )
}

type Header = {
  readonly from: string
  readonly to: string
  readonly isGit: boolean
  readonly renamed: boolean
  readonly made: boolean
  readonly removed: boolean
  readonly notes: readonly string[]
  readonly next: number
}

function linesOf(diff: string): string[] {
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  // If even the hunk headers end with CR, the whole diff was written with CRLF, and its CRs are not those of the
  // files.
  const crlf = lines.some((line) => isHunkHeader(line) && line.endsWith('\r'))
  return crlf ? lines.map((line) => line.replace(/\r$/, '')) : lines
}

function readHeader(lines: readonly string[], at: number): Header | undefined {
  const line = lines[at] ?? ''
  if (line.startsWith('diff --git ')) return readGitHeader(lines, at)
  if (line.startsWith('diff --cc ') || line.startsWith('diff --combined ') || line.startsWith('@@@'))
    throw problem(at, 'a combined diff of a merge, which has no single before; send a plain unified diff')
  if (!isNamePair(lines, at)) return undefined
  const [from, to] = readNamePair(lines, at)
  return { from, to, isGit: false, renamed: false, made: false, removed: false, notes: [], next: at + 2 }
}

function readGitHeader(lines: readonly string[], start: number): Header {
  const names = readGitNames((lines[start] ?? '').slice('diff --git '.length))
  let [from, to] = names ?? [undefined, undefined]
  let [renamed, made, removed] = [false, false, false]
  const notes: string[] = []
  let at = start + 1
  for (; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (isNamePair(lines, at)) {
      const pair = readNamePair(lines, at)
      if (!renamed) [from, to] = pair
      at += 2
      break
    }
    refuseBinary(line)
    const [, word, value = ''] =
      /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|index|(?:dis)?similarity index) ?(.*)$/.exec(
        line,
      ) ?? []
    if (word === undefined) break
    if (word.startsWith('copy'))
      throw problem(at, 'a copy of a file, which is not supported; write the copy instead')
    if (word === 'rename from') from = `a/${readName(value)}`
    if (word === 'rename to') to = `b/${readName(value)}`
    if (word.startsWith('rename')) renamed = true
    if (word === 'new file mode') made = true
    if (word === 'deleted file mode') removed = true
    refuseSpecial(at, word === 'index' ? (value.split(' ')[1] ?? '') : word.endsWith('mode') ? value : '')
    if (word === 'new mode') notes.push(`the mode ${value} is not applied`)
    if (word === 'new file mode' && value.endsWith('755')) notes.push('the file is not made executable')
  }
  if (from === undefined || to === undefined)
    throw problem(start, 'a "diff --git" line whose two names cannot be separated; add "---" and "+++" lines')
  return { from, to, isGit: true, renamed, made, removed, notes, next: at }
}

function isNamePair(lines: readonly string[], at: number): boolean {
  return lines[at]?.startsWith('--- ') === true && lines[at + 1]?.startsWith('+++ ') === true
}

function readNamePair(lines: readonly string[], at: number): [string, string] {
  const name = (line = ''): string => readName(line.slice(4).replace(/\r$/, ''))
  return [name(lines[at]), name(lines[at + 1])]
}

function patchOf(header: Header | undefined, hunks: readonly Hunk[], at: number): FilePatch {
  if (header === undefined) return { change: 'modify', hunks, notes: [] }
  const { from, to } = withoutPrefixes(header.from, header.to, header.isGit)
  if (from === nothing && to === nothing) throw problem(at - 1, 'a part whose two names are both /dev/null')
  for (const name of [from, to]) if (name !== nothing) refuseUnsafe(name)
  const { made, removed, notes, renamed } = header
  if (hunks.length === 0 && !made && !removed && !renamed && notes.length === 0) throw noHunks()
  if ((removed && from === nothing) || (made && to === nothing) || (made && removed))
    throw problem(at - 1, 'a header that contradicts itself about whether the file is made or removed')
  if (from === nothing || made) return { to, change: 'create', hunks, notes }
  if (to === nothing || removed) return { from, change: 'delete', hunks, notes }
  if (renamed) return { from, to, change: 'rename', hunks, notes }
  if (from !== to)
    throw new CapstanError(
      'patch_parse',
      `Failed to parse diff: it names two files, ${from} and ${to}. Use the same name on both lines, or "rename from" and "rename to".`,
    )
  return { from, to, change: 'modify', hunks, notes }
}

/** Refuses links and submodules: their diffs look like text, but applying them would create ordinary files. */
function refuseSpecial(at: number, mode: string): void {
  if (/^(120|160)000$/.test(mode))
    throw problem(at, 'a symbolic link or submodule, which cannot be patched as text')
}

function refuseBinary(line: string): void {
  if (line === 'GIT binary patch' || /^Binary files .* differ$/.test(line))
    throw new CapstanError(
      'patch_binary',
      'Failed to parse diff: it holds a binary patch, and only text can be patched. Leave that file out.',
    )
}

function problem(at: number, what: string): CapstanError {
  return new CapstanError('patch_parse', `Failed to parse diff: line ${at + 1} begins ${what}.`)
}
