/** A rule of a Seatbelt profile. Without filters it holds for every use of its operations. */
export type SbplRule = {
  readonly action: 'allow' | 'deny'
  /** A name such as `file-write-data`; one that ends in `*` means all that begin with it. */
  readonly operations: readonly string[]
  /** The rule applies when one of them does. */
  readonly filters: readonly SbplFilter[]
}

export type SbplFilter =
  /** A path and, with `subpath`, everything below it. */
  | { readonly kind: 'literal' | 'subpath'; readonly path: string }
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'require-all' | 'require-any'; readonly filters: readonly SbplFilter[] }
  | { readonly kind: 'require-not'; readonly filter: SbplFilter }
  /** One that is not about paths: a name and its words, of which some are strings. */
  | { readonly kind: 'other'; readonly name: string; readonly words: readonly SbplWord[] }

export type SbplWord = { readonly symbol: string } | { readonly text: string }

/** Writes a profile: version, what holds where no rule does, and the rules. Of two that apply the later one holds. */
export function writeSbpl(rules: readonly SbplRule[]): string {
  return ['(version 1)', '(deny default)', ...rules.map(ruleText), ''].join('\n')
}

function ruleText({ action, operations, filters }: SbplRule): string {
  const head = `(${action} ${operations.join(' ')}`
  return filters.length === 0 ? `${head})` : `${[head, ...filters.map(filterText)].join('\n  ')})`
}

function filterText(filter: SbplFilter): string {
  switch (filter.kind) {
    case 'literal':
    case 'subpath':
      return `(${filter.kind} ${quoted(filter.path)})`
    case 'regex':
      return `(regex ${quoted(filter.pattern)})`
    case 'require-all':
    case 'require-any':
      return `(${filter.kind} ${filter.filters.map(filterText).join(' ')})`
    case 'require-not':
      return `(require-not ${filterText(filter.filter)})`
    case 'other':
      return `(${[filter.name, ...filter.words.map(wordText)].join(' ')})`
  }
}

function wordText(word: SbplWord): string {
  return 'symbol' in word ? word.symbol : quoted(word.text)
}

/**
 * A string of the language, which is Scheme: two characters have a meaning inside, every other means itself, line
 * breaks too. What cannot be written as UTF-8 could match another path than was meant.
 */
function quoted(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text))
    throw new TypeError(`${JSON.stringify(text)} cannot be written into a Seatbelt profile.`)
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
