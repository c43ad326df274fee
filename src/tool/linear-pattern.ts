/** Thrown when a check would take longer than an untrusted schema is allowed to take. */
export class CheckTooLargeError extends Error {
  override readonly name = 'CheckTooLargeError'
}

/** A regular expression of a schema that is matched in time linear in the text, for every pattern. */
export type LinearPattern = {
  test(text: string): boolean
  /** The JavaScript engine also matches it in linear time, so the native `RegExp` can be used. */
  readonly isPlain: boolean
  /** No group repeats, and at most one part repeats. */
  readonly isSimple: boolean
}

const maxStates = 5_000
const maxSteps = 2_000_000

/**
 * Parses a pattern that is a regular expression with the flag `u`. Throws `TypeError` for patterns without a linear
 * match (look-around or back references together with repeated groups) and for patterns that are too large.
 */
export function linearPattern(pattern: string): LinearPattern {
  const { node, special } = new Reader(pattern).read()
  const { repeats, groups } = repetition(node)
  const isSimple = groups === 0 && repeats <= 1
  if (special) {
    if (groups > 0)
      throw new TypeError('it repeats a group and looks around or back, which can take exponential time')
    const native = new RegExp(pattern, 'u')
    const power = repeats + 1
    return { test: (text) => native.test(shortEnough(text, power)), isPlain: false, isSimple }
  }
  const isPlain = groups === 0 && (repeats === 0 || (repeats === 1 && pattern.startsWith('^')))
  const states = compile(node)
  return { test: (text) => matches(states, text), isPlain, isSimple }
}

function shortEnough(text: string, power: number): string {
  if (text.length ** power <= maxSteps) return text
  throw new CheckTooLargeError(
    `a text of ${text.length} characters is too long for a pattern that looks around`,
  )
}

type Node =
  | { readonly type: 'one'; readonly source: string }
  | { readonly type: 'sequence' | 'choice'; readonly nodes: readonly Node[] }
  | { readonly type: 'repeat'; readonly node: Node; readonly min: number; readonly max: number }
  | { readonly type: 'start' | 'end' | 'word' | 'no-word' }

/** Counts the parts that repeat a variable number of times, and how many of those are longer than one character. */
function repetition(node: Node): { readonly repeats: number; readonly groups: number } {
  switch (node.type) {
    case 'repeat': {
      const inner = repetition(node.node)
      const varies = node.min !== node.max
      const plain = node.node.type === 'one' || (!varies && inner.repeats === 0) || node.max <= 1
      return {
        repeats: inner.repeats * Math.min(node.max, 10) + (varies && node.max > 1 ? 1 : 0),
        groups: inner.groups + (plain && inner.groups === 0 ? 0 : 1),
      }
    }
    case 'sequence':
    case 'choice': {
      const all = node.nodes.map(repetition)
      return {
        repeats: all.reduce((sum, one) => sum + one.repeats, 0),
        groups: all.reduce((sum, one) => sum + one.groups, 0),
      }
    }
    default:
      return { repeats: 0, groups: 0 }
  }
}

/** Parses a pattern that the JavaScript engine has accepted. */
class Reader {
  readonly #text: string
  #at = 0
  #special = false

  constructor(text: string) {
    this.#text = text
  }

  read(): { readonly node: Node; readonly special: boolean } {
    const node = this.#choice()
    return { node, special: this.#special }
  }

  #choice(): Node {
    const nodes = [this.#sequence()]
    while (this.#text[this.#at] === '|') {
      this.#at++
      nodes.push(this.#sequence())
    }
    return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { type: 'choice', nodes }
  }

  #sequence(): Node {
    const nodes: Node[] = []
    while (this.#at < this.#text.length && !'|)'.includes(this.#text[this.#at] ?? '')) {
      const atom = this.#atom()
      nodes.push(this.#repeated(atom))
    }
    return { type: 'sequence', nodes }
  }

  #atom(): Node {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0)
    if (char === '(') return this.#group()
    if (char === '[') return this.#class()
    if (char === '\\') return this.#escape()
    this.#at += char.length
    if (char === '^') return { type: 'start' }
    if (char === '$') return { type: 'end' }
    return { type: 'one', source: char }
  }

  #group(): Node {
    const opening = /\((?:\?(?:<?[=!]|:|<[^>]*>))?/y
    opening.lastIndex = this.#at
    const text = opening.exec(this.#text)?.[0] ?? '('
    if (/[=!]$/.test(text)) this.#special = true
    this.#at += text.length
    const node = this.#choice()
    this.#at++
    return node
  }

  #class(): Node {
    const from = this.#at
    this.#at++
    while (this.#at < this.#text.length && this.#text[this.#at] !== ']')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at++
    return { type: 'one', source: this.#text.slice(from, this.#at) }
  }

  #escape(): Node {
    const form =
      /\\(?:u\{[0-9A-Fa-f]+\}|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[pP]\{[^}]*\}|k<[^>]*>|c[A-Za-z]|[1-9]\d*|.)/suy
    form.lastIndex = this.#at
    const text = form.exec(this.#text)?.[0] ?? this.#text.slice(this.#at, this.#at + 2)
    this.#at += text.length
    if (text === '\\b') return { type: 'word' }
    if (text === '\\B') return { type: 'no-word' }
    if (/^\\(?:[1-9]|k)/.test(text)) {
      this.#special = true
      return { type: 'sequence', nodes: [] }
    }
    return { type: 'one', source: text }
  }

  #repeated(node: Node): Node {
    const form = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y
    form.lastIndex = this.#at
    const found = form.exec(this.#text)
    if (found === null) return node
    this.#at += found[0].length
    const [text, from, comma, to] = found
    if (from === undefined)
      return {
        type: 'repeat',
        node,
        min: text.startsWith('+') ? 1 : 0,
        max: text.startsWith('?') ? 1 : Number.POSITIVE_INFINITY,
      }
    const min = Number(from)
    const max = comma === '' ? min : to === '' ? Number.POSITIVE_INFINITY : Number(to)
    return { type: 'repeat', node, min, max }
  }
}

type State =
  | { readonly type: 'one'; readonly fits: (char: string) => boolean; next: number }
  | { readonly type: 'split'; next: number; other: number }
  | { readonly type: 'start' | 'end' | 'word' | 'no-word'; next: number }
  | { readonly type: 'match' }

/**
 * Builds a Thompson automaton from its end, so that each part can refer to the next one. The first state is last in
 * the list.
 */
function compile(node: Node): readonly State[] {
  const states: State[] = [{ type: 'match' }]
  const add = (state: State): number => {
    if (states.length >= maxStates)
      throw new TypeError(`it is too large: with its repetitions it has more than ${maxStates} parts`)
    return states.push(state) - 1
  }
  const build = (part: Node, next: number): number => {
    switch (part.type) {
      case 'one':
        return add({ type: 'one', fits: fitter(part.source), next })
      case 'sequence':
        return part.nodes.reduceRight((after, one) => build(one, after), next)
      case 'choice':
        return part.nodes
          .map((one) => build(one, next))
          .reduceRight((other, one) => add({ type: 'split', next: one, other }))
      case 'repeat':
        return buildRepeat(part, next)
      default:
        return add({ type: part.type, next })
    }
  }
  const buildRepeat = (
    { node: inner, min, max }: Extract<Node, { type: 'repeat' }>,
    next: number,
  ): number => {
    if (Math.max(min, max === Number.POSITIVE_INFINITY ? 0 : max) > maxStates)
      throw new TypeError(`it is too large: it repeats a part more than ${maxStates} times`)
    let at = next
    if (max === Number.POSITIVE_INFINITY) {
      const split = { type: 'split' as const, next: 0, other: next }
      at = add(split)
      split.next = build(inner, at)
    } else
      for (let count = min; count < max; count++)
        at = add({ type: 'split', next: build(inner, at), other: next })
    for (let count = 0; count < min; count++) at = build(inner, at)
    return at
  }
  const first = build(node, 0)
  add({ type: 'split', next: first, other: first })
  return states
}

/** Returns a test of one character by the engine's own rules; answers for ASCII are precomputed. */
function fitter(source: string): (char: string) => boolean {
  const pattern = new RegExp(`^(?:${source})$`, 'u')
  const known = new Uint8Array(128)
  return (char) => {
    const code = char.charCodeAt(0)
    if (char.length > 1 || code >= 128) return pattern.test(char)
    if (known[code] === 0) known[code] = pattern.test(char) ? 1 : 2
    return known[code] === 1
  }
}

/** Follows all paths through the automaton at once: each state is visited at most once per character. */
function matches(states: readonly State[], text: string): boolean {
  const seen = new Int32Array(states.length).fill(-1)
  const stack: number[] = []
  let current: number[] = []
  let steps = 0
  let before = ''
  const visit = (from: number, at: number, after: string, into: number[]): boolean => {
    stack.push(from)
    while (stack.length > 0) {
      const index = stack.pop() ?? 0
      if (seen[index] === at) continue
      seen[index] = at
      if (++steps > maxSteps) throw new CheckTooLargeError('a text is too long for a pattern of the schema')
      const state = states[index]
      if (state === undefined || state.type === 'match') return true
      if (state.type === 'one') into.push(index)
      else if (state.type === 'split') stack.push(state.other, state.next)
      else if (holds(state.type, before, after)) stack.push(state.next)
    }
    return false
  }
  const first = states.length - 1
  for (let at = 0, offset = 0; ; at++) {
    const char = charAt(text, offset)
    // A match can begin at any character.
    if (visit(first, at, char, current)) return true
    if (char === '') return false
    offset += char.length
    before = char
    const after = charAt(text, offset)
    const next: number[] = []
    for (const index of current) {
      const state = states[index]
      if (state?.type === 'one' && state.fits(char) && visit(state.next, at + 1, after, next)) return true
    }
    current = next
  }
}

function holds(type: 'start' | 'end' | 'word' | 'no-word', before: string, after: string): boolean {
  if (type === 'start') return before === ''
  if (type === 'end') return after === ''
  return (isWord(before) !== isWord(after)) === (type === 'word')
}

function isWord(char: string): boolean {
  return /^\w$/.test(char)
}

function charAt(text: string, offset: number): string {
  const code = text.codePointAt(offset)
  return code === undefined ? '' : String.fromCodePoint(code)
}
