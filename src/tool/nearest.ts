const maxComparedLength = 64

/** Returns the known names closest to a misspelt one, best first: at most three, with at most a third changed. */
export function nearestNames(name: string, known: Iterable<string>, most = 3): string[] {
  if (name.length > maxComparedLength) return []
  const wanted = plain(name)
  const ranked: { name: string; distance: number }[] = []
  for (const candidate of known) {
    if (candidate.length > maxComparedLength) continue
    const other = plain(candidate)
    const distance = wanted === other ? 0 : editDistance(wanted, other)
    if (distance <= Math.max(wanted.length, other.length) / 3) ranked.push({ name: candidate, distance })
  }
  ranked.sort((a, b) => a.distance - b.distance)
  // Only the spelling differs: this name was meant, and other suggestions would distract.
  if (ranked[0]?.distance === 0) return [ranked[0].name]
  return ranked.slice(0, most).map((entry) => entry.name)
}

/** Formats names as `"a"`, `"a" or "b"`, `"a", "b" or "c"`. */
export function quoteNames(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`)
  if (quoted.length < 2) return quoted.join('')
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** People and models often confuse case and word separators: `readFile`, `read_file` and `read-file` are equal here. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[-_. ]/g, '')
}

/** Counts the insertions, deletions, substitutions and swaps of neighbours that turn one string into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
