const sortAbove = 64

/** Returns the positions with the best scores, best first; ties stay in order, undefined scores are left out. */
export function selectTop(
  count: number,
  topK: number,
  score: (at: number) => number | undefined,
): { at: number; score: number }[] {
  const best: { at: number; score: number }[] = []
  const bounded = topK <= sortAbove
  for (let at = 0; at < count; at++) {
    const value = score(at)
    if (value === undefined) continue
    const last = best[topK - 1]
    if (bounded && last !== undefined && value <= last.score) continue
    if (!bounded) {
      best.push({ at, score: value })
      continue
    }
    let place = best.length
    while (place > 0 && value > (best[place - 1]?.score ?? Number.POSITIVE_INFINITY)) place--
    best.splice(place, 0, { at, score: value })
    if (best.length > topK) best.pop()
  }
  if (bounded) return best
  return best.sort((a, b) => b.score - a.score || a.at - b.at).slice(0, topK)
}
