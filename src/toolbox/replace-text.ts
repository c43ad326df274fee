import { type EndingMap, endingNear } from './line-endings.js'

/** Returns the positions of a text in another, from the left, without overlaps; at most `max` of them. */
export function placesOf(text: string, wanted: string, max = Number.POSITIVE_INFINITY): number[] {
  const places: number[] = []
  for (
    let at = text.indexOf(wanted);
    at >= 0 && places.length < max;
    at = text.indexOf(wanted, at + wanted.length)
  )
    places.push(at)
  return places
}

/**
 * Replaces `wanted` (with LF) by `given` (with LF), using the line endings at each place. All other bytes are
 * unchanged.
 */
export function replaceAt(map: EndingMap, places: readonly number[], wanted: string, given: string): string {
  const { lead, trail } = commonEnds(wanted, given)
  const removed = wanted.slice(lead, wanted.length - trail)
  const added = given.slice(lead, given.length - trail)
  const near = nearestEndings(map)
  let result = ''
  let done = 0
  for (const place of places) {
    const from = place + lead
    result += map.original.slice(done, map.toOriginal(from)) + inEndings(map, from, removed, added, near)
    done = map.toOriginal(from + removed.length)
  }
  return result + map.original.slice(done)
}

/** Counts added and removed lines, without unchanged lines at the edges of a place. */
export function countChanges(
  text: string,
  places: readonly number[],
  wanted: string,
  given: string,
): { readonly added: number; readonly removed: number } {
  let added = 0
  let removed = 0
  for (let first = 0; first < places.length; ) {
    const begin = text.lastIndexOf('\n', (places[first] ?? 0) - 1) + 1
    let end = lineEnd(text, (places[first] ?? 0) + wanted.length)
    let last = first
    // Places on the same line are one change.
    while (last + 1 < places.length && (places[last + 1] ?? 0) < end) {
      last++
      const placeEnd = (places[last] ?? 0) + wanted.length
      // Search for the line end only when the place ends on another line: a line may have a million places.
      if (placeEnd >= end) end = lineEnd(text, placeEnd)
    }
    let after = ''
    let done = begin
    for (const place of places.slice(first, last + 1)) {
      after += text.slice(done, place) + given
      done = place + wanted.length
    }
    const change = changedLines(text.slice(begin, end), after + text.slice(done, end))
    added += change.added
    removed += change.removed
    first = last + 1
  }
  return { added, removed }
}

/** Returns how many characters two texts have in common at their start and, after that, at their end. */
export function commonEnds(a: string, b: string): { lead: number; trail: number } {
  const most = Math.min(a.length, b.length)
  let lead = 0
  while (lead < most && a[lead] === b[lead]) lead++
  let trail = 0
  while (trail < most - lead && a[a.length - 1 - trail] === b[b.length - 1 - trail]) trail++
  return { lead, trail }
}

/**
 * Returns a function for the line ending near a position. Called with ascending positions, it walks every line once.
 */
function nearestEndings(map: EndingMap): (at: number) => '\n' | '\r\n' {
  let until = -1
  let ending: '\n' | '\r\n' = '\n'
  return (at) => {
    if (at > until) {
      const next = map.lf.indexOf('\n', at)
      until = next < 0 ? Number.POSITIVE_INFINITY : next
      ending = endingNear(map, at)
    }
    return ending
  }
}

function inEndings(
  map: EndingMap,
  at: number,
  removed: string,
  added: string,
  nearest: (at: number) => '\n' | '\r\n',
): string {
  if (!added.includes('\n')) return added
  const old = placesOf(removed, '\n').map((lineFeed) => map.endingAt(at + lineFeed))
  const lines = added.split('\n')
  // With as many lines as before, each keeps its own ending; otherwise all get the ending at the place.
  const own = old.length === lines.length - 1
  const near = nearest(at)
  return lines.reduce((text, line, index) => text + (own ? (old[index - 1] ?? near) : near) + line)
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

function changedLines(before: string, after: string): { added: number; removed: number } {
  const old = linesOf(before)
  const now = linesOf(after)
  const most = Math.min(old.length, now.length)
  let same = 0
  while (same < most && old[same] === now[same]) same++
  let end = 0
  while (end < most - same && old[old.length - 1 - end] === now[now.length - 1 - end]) end++
  return { added: now.length - same - end, removed: old.length - same - end }
}

/** Splits a text into lines with their endings: a line that lost only its ending counts as changed. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}
