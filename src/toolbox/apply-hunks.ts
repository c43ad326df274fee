import { CapstanError } from '../tool/errors.js'
import type { DiffLine, Hunk } from './diff-hunk.js'
import { quoted } from './missing-text.js'
import { byteOrderMark } from './text-file.js'

export type AppliedHunks = {
  readonly text: string
  readonly added: number
  readonly removed: number
  /** What had to be adjusted so that the hunks fit. */
  readonly notes: readonly string[]
}

/**
 * Applies hunks to a text. Throws when one does not fit, with the expected line and the line found. Lines must be
 * equal byte for byte. Otherwise a second attempt ignores what models leave out of diffs: CRs, a byte-order mark, the
 * note that the last line has no line ending. Added lines then get the line ending of the lines around them, and the
 * end of the file is unchanged.
 *
 * A hunk is applied at the line of its header if both of its line numbers agree; otherwise, or if it does not fit
 * there, at the only place where it fits. Two such places are an error, in the first attempt too.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): AppliedHunks {
  const exact = attempt(text, hunks, exactly)
  if (exact.ok) return outcome(exact.text, hunks, exact.moved, [])
  // Lines that fit byte for byte in several places are not looked for in a place where they fit less well.
  if (exact.error.code === 'patch_ambiguous') throw exact.error
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ''
  const lenient = attempt(text.slice(mark.length), hunks, leniently)
  if (!lenient.ok) throw lenient.error
  return outcome(mark + lenient.text, hunks, lenient.moved, ['line endings of the file were kept'])
}

type Attempt =
  | { readonly ok: true; readonly text: string; readonly moved: readonly string[] }
  | { readonly ok: false; readonly error: CapstanError }

/** How lines of the diff are compared with lines of the file, and how they are inserted. */
type Manner = {
  /** Returns a text that is equal for lines that can match. */
  key(line: string): string
  same(fileLine: string, line: DiffLine): boolean
  put(line: DiffLine, near: Neighbours): string
}
/** The line ending for a new line, whether it is the last line, and whether the file ends without a line ending. */
type Neighbours = { readonly ending: string; readonly last: boolean; readonly fileOpen: boolean }

const exactly: Manner = {
  key: (line) => line,
  same: (fileLine, line) => fileLine === lineOf(line),
  put: (line) => lineOf(line),
}

const leniently: Manner = {
  key: bare,
  same(fileLine, line) {
    const open = !fileLine.endsWith('\n')
    // A file that ends with a line ending does not match a diff that says that it has none.
    return bare(fileLine) === bare(line.text) && (open || !line.open)
  },
  put: (line, { ending, last, fileOpen }) =>
    bare(line.text) + (last && (line.open || fileOpen) ? '' : ending),
}

function attempt(text: string, hunks: readonly Hunk[], manner: Manner): Attempt {
  const lines = linesOf(text)
  const moved: string[] = []
  let result = ''
  let done = 0
  let delta = 0
  let trusted = true
  for (const [index, hunk] of hunks.entries()) {
    const old = hunk.lines.filter(({ mark }) => mark !== '+')
    const stated = hunk.oldCount === 0 ? hunk.oldStart : hunk.oldStart - 1
    const statedNew = hunk.newCount === 0 ? hunk.newStart : hunk.newStart - 1
    trusted &&= statedNew === stated + delta
    const at = placeOf(lines, old, { stated, trusted, done, name: `hunk ${index + 1}` }, manner)
    if (typeof at !== 'number') return { ok: false, error: at }
    const misplaced = openInside(lines, at, hunk)
    if (misplaced !== undefined) return { ok: false, error: misplaced }
    if (at !== stated) {
      moved.push(`hunk ${index + 1} was applied at line ${at + 1}, its header says ${hunk.oldStart}`)
      trusted = false
    }
    result += lines.slice(done, at).join('') + replaced(lines, at, hunk, manner)
    done = at + old.length
    delta += hunk.newCount - hunk.oldCount
  }
  return { ok: true, text: result + lines.slice(done).join(''), moved }
}

type Wanted = {
  readonly stated: number
  readonly trusted: boolean
  readonly done: number
  readonly name: string
}

function placeOf(
  lines: readonly string[],
  old: readonly DiffLine[],
  { stated, trusted, done, name }: Wanted,
  manner: Manner,
): number | CapstanError {
  const fits = (at: number): boolean => firstDifference(lines, old, at, manner) < 0
  const inRange = stated >= done && stated + old.length <= lines.length
  if (trusted && inRange && fits(stated)) return stated
  if (old.length === 0)
    return new CapstanError(
      'patch_mismatch',
      `${name} has no context lines, and line ${stated} is not a place for it in ${lines.length} lines. Add lines around the change.`,
    )
  const places = placesIn(lines, old, manner)
  const [only] = places
  if (only === undefined) return mismatch(lines, old, stated, manner, name)
  if (places.length > 1)
    return new CapstanError(
      'patch_ambiguous',
      `${name} fits at lines ${places.map((at) => at + 1).join(', ')} and its header does not say which. Correct its line numbers or add context lines.`,
    )
  if (only >= done) return only
  return new CapstanError(
    'patch_mismatch',
    `${name} fits only at line ${only + 1}, before or inside the hunk above it. Put the hunks in the order of the file, without overlaps.`,
  )
}

const maxPlaces = 5

/**
 * Returns the first few places where lines fit, in one pass (Knuth, Morris, Pratt). In a file of equal lines every
 * place begins alike, and comparing each from its start would take time proportional to the product of both lengths.
 */
function placesIn(lines: readonly string[], old: readonly DiffLine[], { key, same }: Manner): number[] {
  const wanted = old.map((line) => key(lineOf(line)))
  const back = fallbacks(wanted)
  const open = old.flatMap((line, index) => (line.open ? [index] : []))
  const places: number[] = []
  let matched = 0
  for (let at = 0; at < lines.length && places.length < maxPlaces; at++) {
    const found = key(lines[at] ?? '')
    while (matched > 0 && wanted[matched] !== found) matched = back[matched - 1] ?? 0
    if (wanted[matched] === found) matched++
    if (matched < wanted.length) continue
    const start = at + 1 - matched
    // Lines with equal keys match, except that a line marked as having no line ending needs a further check.
    const fits = open.every((index) => {
      const line = old[index]
      return line !== undefined && same(lines[start + index] ?? '', line)
    })
    if (fits) places.push(start)
    matched = back[matched - 1] ?? 0
  }
  return places
}

/** Returns, for each prefix of a list, the length of its longest proper prefix that is also its suffix. */
function fallbacks(wanted: readonly string[]): number[] {
  const back = [0]
  for (let at = 1, matched = 0; at < wanted.length; at++) {
    while (matched > 0 && wanted[matched] !== wanted[at]) matched = back[matched - 1] ?? 0
    if (wanted[matched] === wanted[at]) matched++
    back.push(matched)
  }
  return back
}

function firstDifference(
  lines: readonly string[],
  old: readonly DiffLine[],
  at: number,
  { same }: Manner,
): number {
  return old.findIndex((line, index) => {
    const found = lines[at + index]
    return found === undefined || !same(found, line)
  })
}

function mismatch(
  lines: readonly string[],
  old: readonly DiffLine[],
  stated: number,
  manner: Manner,
  name: string,
): CapstanError {
  const at = Math.max(0, Math.min(stated, lines.length))
  const index = Math.max(0, firstDifference(lines, old, at, manner))
  const [expected, found] = [old[index], lines[at + index]]
  const detail =
    found === undefined
      ? 'the end of the file'
      : `${quoted(bare(found))}${expected !== undefined && bare(expected.text) === bare(found) ? ' with a line ending' : ''}`
  return new CapstanError(
    'patch_mismatch',
    `Hunk context mismatch at line ${at + index + 1}: expected ${quoted(bare(expected?.text ?? ''))}, found ${detail} ` +
      `(${name}; it fits nowhere else either). Read the file again and make the diff from its present lines.`,
  )
}

/** Returns an error if a line without a line ending is not the last of its file. */
function openInside(
  lines: readonly string[],
  at: number,
  { lines: own, oldCount }: Hunk,
): CapstanError | undefined {
  const atEnd = at + oldCount === lines.length
  const [lastOld, lastNew] = ['+', '-'].map((other) => own.findLast(({ mark }) => mark !== other))
  const wrong = own.find((line) => line.open && !(atEnd && (line === lastOld || line === lastNew)))
  return wrong === undefined
    ? undefined
    : new CapstanError(
        'patch_mismatch',
        `The diff says that ${quoted(bare(wrong.text))} is the last line, without a line ending, but other lines follow it. ` +
          'Remove "\\ No newline at end of file" there.',
      )
}

/** Returns the lines that replace those of a hunk at a place; unchanged lines keep their bytes. */
function replaced(lines: readonly string[], at: number, hunk: Hunk, manner: Manner): string {
  const end = at + hunk.oldCount
  const fileOpen = lines.at(-1)?.endsWith('\n') === false
  const remaining = hunk.lines.filter(({ mark }) => mark !== '-')
  let from = at
  let ending = endingOf(lines[at] ?? lines[at - 1])
  let put = 0
  let text = ''
  for (const line of hunk.lines) {
    const own = lines[from]
    if (line.mark !== '+') {
      from++
      ending = endingOf(own) || ending
    }
    if (line.mark === '-') continue
    put++
    const last = put === remaining.length && end === lines.length
    if (line.mark === ' ' && own !== undefined)
      text += last || own.endsWith('\n') ? own : own + (ending || '\n')
    else text += manner.put(line, { ending: ending || '\n', last, fileOpen })
  }
  return text
}

function outcome(
  text: string,
  hunks: readonly Hunk[],
  moved: readonly string[],
  bent: readonly string[],
): AppliedHunks {
  const marked = (mark: string): number =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.mark === mark).length, 0)
  const recounted = hunks.some((hunk) => hunk.recounted)
    ? ['a hunk header had wrong counts; the lines were counted instead']
    : []
  return { text, added: marked('+'), removed: marked('-'), notes: [...moved, ...bent, ...recounted] }
}

/** Splits a text into lines, each with its line ending. */
function linesOf(text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  const ended = lines.map((line) => `${line}\n`)
  return last === '' ? ended : [...ended, last]
}

function lineOf({ text, open }: DiffLine): string {
  return open ? text : `${text}\n`
}

function bare(line: string): string {
  return line.replace(/\r?\n$|\r$/, '')
}

function endingOf(line: string | undefined): string {
  if (line === undefined || !line.endsWith('\n')) return ''
  return line.endsWith('\r\n') ? '\r\n' : '\n'
}
