/** A position in a text: line and column start at 1, `offset` and `end` at 0 (`end` is the character after it). */
export type Span = {
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly end: number
}

/**
 * A configuration as a tree. ACL text and configuration objects are both converted to it, so that the same readers work
 * for both. Only nodes from text have spans.
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
      /** A value that only an object can have, such as a function; `what` describes it. */
      | { readonly type: 'foreign'; readonly what: string }
    ) & { readonly span?: Span })
  | ObjectValue

export type ObjectValue = {
  readonly type: 'object'
  readonly items: readonly Item[]
  readonly span?: Span
}

/** A problem in a text, with its position. It never contains any of the text itself, which can be a secret. */
export type SyntaxProblem = { readonly message: string; readonly span: Span }
