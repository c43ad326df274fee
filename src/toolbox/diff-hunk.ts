import { CapstanError } from '../tool/errors.js'

export type DiffLine = {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
  /** Whether it is the last line of its file and has no line ending. */
  readonly open: boolean
}

export type Hunk = {
  /** The start line in the header; for a count of 0, the line before. */
  readonly oldStart: number
  readonly newStart: number
  /** The counts of the actual lines. */
  readonly oldCount: number
  readonly newCount: number
  readonly lines: readonly DiffLine[]
  /** The counts in the header differed from the lines. */
  readonly recounted: boolean
}

const header = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/

export function isHunkHeader(line: string | undefined): boolean {
  return line?.startsWith('@@') === true && !line.startsWith('@@@')
}

/**
 * Reads one hunk. It ends where the counts of its header say. If the counts and the lines disagree, the lines are
 * used: models miscount far more often than they omit a line, and every line is checked against the file anyway.
 */
export function readHunk(lines: readonly string[], at: number): { hunk: Hunk; next: number } {
  const text = lines[at] ?? ''
  const match = header.exec(text)
  if (match === null)
    throw new CapstanError(
      'patch_parse',
      `Failed to parse diff: line ${at + 1}, ${JSON.stringify(text.slice(0, 80))}, is not a hunk header; write "@@ -<line>,<count> +<line>,<count> @@".`,
    )
  const [oldStart, newStart] = [Number(match[1]), Number(match[3])]
  const stated = { old: Number(match[2] ?? 1), now: Number(match[4] ?? 1) }
  const counted = takeCounted(lines, at + 1, stated)
  const body = counted ?? takeAll(lines, at + 1)
  const oldCount = count(body.lines, '-')
  const newCount = count(body.lines, '+')
  if (body.lines.every(({ mark }) => mark === ' '))
    throw new CapstanError(
      'patch_parse',
      `Failed to parse diff: the hunk at line ${at + 1} adds and removes nothing. Begin each removed line with "-" and each added line with "+".`,
    )
  const hunk = { oldStart, newStart, oldCount, newCount, lines: body.lines, recounted: counted === undefined }
  return { hunk, next: body.next }
}

type Body = { readonly lines: DiffLine[]; readonly next: number }

/** Returns the lines that the header counts; undefined when there are fewer, or when more follow. */
function takeCounted(
  lines: readonly string[],
  start: number,
  stated: { readonly old: number; readonly now: number },
): Body | undefined {
  const taken: DiffLine[] = []
  let [old, now] = [0, 0]
  let at = start
  for (; old < stated.old || now < stated.now || isOpenMark(lines[at]); at++) {
    const line = readLine(lines[at])
    if (line === undefined) return undefined
    if (line === 'open') {
      if (!markOpen(taken)) return undefined
      continue
    }
    taken.push(line)
    if (line.mark !== '+') old++
    if (line.mark !== '-') now++
  }
  if (old !== stated.old || now !== stated.now) return undefined
  return continues(lines, at) ? undefined : { lines: taken, next: at }
}

/** Returns every line up to one that cannot belong to a hunk or begins something else. */
function takeAll(lines: readonly string[], start: number): Body {
  const taken: DiffLine[] = []
  let at = start
  for (; at < lines.length && !beginsAnother(lines, at); at++) {
    const line = readLine(lines[at])
    if (line === undefined || (line === 'open' && !markOpen(taken))) break
    if (line !== 'open') taken.push(line)
  }
  // Empty lines at the end more likely separate two parts of the diff than belong to the file.
  while (lines[at - 1] === '' && at > start) {
    taken.pop()
    at--
  }
  return { lines: taken, next: at }
}

function continues(lines: readonly string[], at: number): boolean {
  return /^[ +-]/.test(lines[at] ?? '') && !beginsAnother(lines, at)
}

/** Returns whether another file begins, or the signature under a mailed patch. */
function beginsAnother(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line === '-- ') return true
  return line.startsWith('--- ') && lines[at + 1]?.startsWith('+++ ') === true
}

function readLine(line: string | undefined): DiffLine | 'open' | undefined {
  if (line === undefined) return undefined
  // An empty line is an empty context line that lost its leading space.
  if (line === '' || line === '\r') return { mark: ' ', text: line, open: false }
  const mark = line[0]
  if (mark === ' ' || mark === '-' || mark === '+') return { mark, text: line.slice(1), open: false }
  return isOpenMark(line) ? 'open' : undefined
}

/** Matches `\ No newline at end of file` in any language. */
function isOpenMark(line: string | undefined): boolean {
  return line?.startsWith('\\ ') === true
}

function markOpen(taken: DiffLine[]): boolean {
  const last = taken.pop()
  if (last === undefined) return false
  taken.push({ ...last, open: true })
  return true
}

function count(lines: readonly DiffLine[], mark: '-' | '+'): number {
  return lines.filter((line) => line.mark === ' ' || line.mark === mark).length
}
