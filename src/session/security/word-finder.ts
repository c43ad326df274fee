/** Finds any of many words in a text in one pass, for any text; it can arrive in pieces. */
export interface WordFinder {
  /** Returns the parts of a text that words cover, in order; overlapping parts are merged. */
  cover(text: string): Span[]
  walk(): WordWalk
}

export type Span = { readonly start: number; readonly end: number }

/** A search through a text, piece by piece. Positions count from its beginning. */
export type WordWalk = {
  /** Processes one more character code; returns the length of the longest word that ends with it, or 0. */
  step(code: number): number
  /** Returns how many of the last characters may be the beginning of a word. */
  pending(): number
}

type State = {
  readonly next: Map<number, State>
  readonly depth: number
  /** The state for the longest proper beginning of a word that ends here, used when no word continues. */
  back: State | undefined
  /** The longest word that ends here. */
  longest: number
}

/** Creates an Aho-Corasick automaton. Each character is processed less than twice on average. */
export function createWordFinder(given: Iterable<string>): WordFinder {
  const words = [...given]
  const root = buildStates(words)
  // Most texts of an event or a record are names and ids, and shorter than any secret.
  const shortest = Math.min(...words.map(({ length }) => length))
  // The built-in search for one word is so much faster than the automaton that even a few of them are faster.
  const isAnyIn = (text: string): boolean =>
    text.length >= shortest && (words.length > maxSearched || words.some((word) => text.includes(word)))
  const walk = (): WordWalk => {
    let state = root
    return {
      step: (code) => {
        state = follow(state, code, root)
        return state.longest
      },
      pending: () => state.depth,
    }
  }
  return {
    walk,
    cover: (text) => {
      const spans: Span[] = []
      if (!isAnyIn(text)) return spans
      const { step } = walk()
      for (let at = 0; at < text.length; at += 1) {
        const length = step(text.charCodeAt(at))
        if (length > 0) addSpan(spans, { start: at + 1 - length, end: at + 1 })
      }
      return spans
    },
  }
}

const maxSearched = 64

/** Adds a span that ends after all others. It may begin before some of them. */
export function addSpan(spans: Span[], span: Span): void {
  let { start } = span
  for (let last = spans.at(-1); last !== undefined && last.end > start; last = spans.at(-1)) {
    start = Math.min(start, last.start)
    spans.pop()
  }
  spans.push({ start, end: span.end })
}

function buildStates(words: Iterable<string>): State {
  const root: State = { next: new Map(), depth: 0, back: undefined, longest: 0 }
  for (const word of words) {
    let state = root
    for (let at = 0; at < word.length; at += 1) state = grow(state, word.charCodeAt(at))
    state.longest = word.length
  }
  const queue: State[] = []
  for (const first of root.next.values()) {
    first.back = root
    queue.push(first)
  }
  for (const state of queue) {
    for (const [code, child] of state.next) {
      child.back = follow(state.back ?? root, code, root)
      child.longest = Math.max(child.longest, child.back.longest)
      queue.push(child)
    }
  }
  return root
}

function grow(state: State, code: number): State {
  const known = state.next.get(code)
  if (known !== undefined) return known
  const made: State = { next: new Map(), depth: state.depth + 1, back: undefined, longest: 0 }
  state.next.set(code, made)
  return made
}

function follow(from: State, code: number, root: State): State {
  let state: State | undefined = from
  while (state !== undefined) {
    const next = state.next.get(code)
    if (next !== undefined) return next
    state = state.back
  }
  return root
}
