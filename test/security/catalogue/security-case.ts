/** One attack of the catalogue, and what tries it. */
export type SecurityCase = {
  /** `SEC-…` in the names of tests. */
  readonly number: number
  readonly attack: string
  /** Attempts of `capstan doctor --prove`. */
  readonly attempts?: readonly string[]
  /** A test that does not name the number: its file, and words of its name. */
  readonly test?: readonly [file: string, words: string]
  /** Why there is nothing to try. */
  readonly notApplicable?: string
}

/** A way out that was found in this sandbox, and what tries it now. */
export type FoundBreak = Pick<SecurityCase, 'attempts' | 'test'> & { readonly found: string }
