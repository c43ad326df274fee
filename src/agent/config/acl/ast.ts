/** Where something stands: line and column count from 1, `offset` and `end` from 0 (`end` is the first character behind it). */
export type Span = {
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly end: number
}

/**
 * A configuration as a tree. An ACL document parses to it, and a configuration given as an object is turned into it, so that one set
 * of readers serves both; only what came from text has spans.
 */
export type Item = Attribute | Block

/** `name = value` */
export type Attribute = {
  readonly type: 'attribute'
  readonly name: string
  readonly value: Value
  readonly span?: Span
}

/** `name "label" { ... }` */
export type Block = {
  readonly type: 'block'
  readonly name: string
  readonly labels: readonly Label[]
  readonly body: ObjectValue
  readonly span?: Span
}

export type Label = { readonly text: string; readonly span?: Span }

export type Value =
  | ((
      | { readonly type: 'text'; readonly value: string }
      | { readonly type: 'number'; readonly value: number }
      | { readonly type: 'boolean'; readonly value: boolean }
      | { readonly type: 'null' }
      | { readonly type: 'list'; readonly items: readonly Value[] }
      | { readonly type: 'call'; readonly name: string; readonly args: readonly Value[] }
      /** What only an object can hold, such as a function; `what` says it in words. */
      | { readonly type: 'foreign'; readonly what: string }
    ) & { readonly span?: Span })
  | ObjectValue

export type ObjectValue = {
  readonly type: 'object'
  readonly items: readonly Item[]
  readonly span?: Span
}

/** What is wrong in a text, and where. Never holds a piece of the text itself: it may be a secret. */
export type SyntaxProblem = { readonly message: string; readonly span: Span }
