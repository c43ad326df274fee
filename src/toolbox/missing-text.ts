import { commonEnds } from './replace-text.js'

/** Returns a hint why a text was not found, and where a similar one is; empty when there is none. */
export function hintAtMissing(text: string, wanted: string): string {
  const unnumbered = wanted.replace(/^[ ]*\d+\t/gm, '')
  if (unnumbered !== wanted && text.includes(unnumbered))
    return 'It carries the line numbers that read shows; leave out each number and the tab after it.'
  const lines = text.split('\n')
  const sought = wanted.replace(/^\n+|\n+$/g, '').split('\n')
  const spaced = findLines(lines, sought, squeezed)
  if (spaced >= 0)
    return `The same text with other whitespace is at line ${spaced + 1}: ${quoted(lines[spaced])}. Copy it exactly.`
  const folded = findLines(lines, sought, (line) => squeezed(line).toLowerCase())
  if (folded >= 0)
    return `The same text in other letter case is at line ${folded + 1}: ${quoted(lines[folded])}.`
  return hintAtLongestStart(lines, sought) ?? hintAtNearestLine(lines, sought) ?? ''
}

const maxQuoteLength = 160
/** The limit of comparisons for a hint: in a file of equal lines every place begins alike. */
const maxComparedCharacters = 2_000_000
/** Two lines are similar if they share more than this part of their characters. */
const alike = 0.6

function squeezed(line: string): string {
  return line.replace(/\s+/g, '')
}

function findLines(
  lines: readonly string[],
  sought: readonly string[],
  reduce: (line: string) => string,
): number {
  const wanted = sought.map(reduce)
  if (wanted.every((line) => line === '')) return -1
  const reduced = lines.map(reduce)
  const [first = ''] = wanted
  // A single line can be a part of a line in the file.
  if (wanted.length === 1) return reduced.findIndex((line) => line.includes(first))
  const inner = wanted.slice(1, -1)
  let compared = 0
  return reduced.findIndex(
    (line, at) =>
      line.endsWith(first) &&
      inner.every((next, index) => ++compared < maxComparedCharacters && reduced[at + 1 + index] === next) &&
      (reduced[at + wanted.length - 1] ?? '').startsWith(wanted.at(-1) ?? ''),
  )
}

/** Returns a hint at the place where the most lines match before the first difference. */
function hintAtLongestStart(lines: readonly string[], sought: readonly string[]): string | undefined {
  let best = { at: -1, same: 0 }
  for (let at = 0, compared = 0; at < lines.length && compared < maxComparedCharacters; at++) {
    let same = 0
    while (same < sought.length && at + same < lines.length && lines[at + same] === sought[same]) same++
    compared += same
    if (same > best.same && sought.slice(0, same).some((line) => line.trim() !== '')) best = { at, same }
  }
  if (best.at < 0 || best.same >= sought.length) return undefined
  const line = best.at + best.same
  const found = line < lines.length ? quoted(lines[line]) : 'the end of the file'
  return (
    `Its first ${best.same} line(s) match at line ${best.at + 1}, but line ${line + 1} is ${found} ` +
    `where old_string has ${quoted(sought[best.same])}.`
  )
}

function hintAtNearestLine(lines: readonly string[], sought: readonly string[]): string | undefined {
  const wanted = (sought.find((line) => line.trim() !== '') ?? '').trim()
  if (wanted === '') return undefined
  let best = { at: -1, score: alike }
  lines.forEach((line, at) => {
    const score = likeness(line.trim(), wanted)
    if (score > best.score) best = { at, score }
  })
  return best.at < 0 ? undefined : `The nearest line is line ${best.at + 1}: ${quoted(lines[best.at])}.`
}

/**
 * Returns the share of characters that two lines have in common at their start and end: cheap, and good enough for
 * most mistakes of a model.
 */
function likeness(a: string, b: string): number {
  const { lead, trail } = commonEnds(a, b)
  return (lead + trail) / Math.max(a.length, b.length, 1)
}

export function quoted(line = ''): string {
  return JSON.stringify(line.length > maxQuoteLength ? `${line.slice(0, maxQuoteLength)}...` : line)
}
