/** A rule of a Seatbelt profile. Without filters it applies to every use of its operations. */
export type SbplRule = {
  readonly action: 'allow' | 'deny'
  /** A name such as `file-write-data`; one that ends in `*` matches all that begin with it. */
  readonly operations: readonly string[]
  /** The rule applies if one of the filters matches. */
  readonly filters: readonly SbplFilter[]
}

export type SbplFilter =
  /** A path; `subpath` also matches everything below it. */
  | { readonly kind: 'literal' | 'subpath'; readonly path: string }
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'require-all' | 'require-any'; readonly filters: readonly SbplFilter[] }
  | { readonly kind: 'require-not'; readonly filter: SbplFilter }
  /** A filter that is not about paths: a name and its words, some of which are strings. */
  | { readonly kind: 'other'; readonly name: string; readonly words: readonly SbplWord[] }

export type SbplWord = { readonly symbol: string } | { readonly text: string }

/** Writes a profile: version, default action, and the rules. Of two matching rules the later one applies. */
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
 * Returns a string literal of the language, which is Scheme: two characters are escaped, all others are literal,
 * including line breaks. Text that cannot be encoded as UTF-8 is rejected, because it could match a different path.
 */
function quoted(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text))
    throw new TypeError(`${JSON.stringify(text)} cannot be written into a Seatbelt profile.`)
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
