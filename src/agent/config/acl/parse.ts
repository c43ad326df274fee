import type { Attribute, Item, Label, ObjectValue, Span, SyntaxProblem, Value } from './ast.js'
import { type Complaints, createLexer, type Token, type TokenKind } from './lex.js'
import { maxDocumentBytes, maxItems, maxNesting } from './limits.js'

/** The maximum number of reported problems. More would not help a user. */
const maxProblems = 100

/** Stops reading one item. The problem is already reported, and reading continues with the next item. */
class Unreadable extends Error {}

/** Stops reading the document. The problems found so far are reported. */
class Halted extends Error {}

/** Parses an ACL document. If there are problems, `items` is incomplete and must not be used. */
export function parseAcl(source: string): { items: readonly Item[]; problems: readonly SyntaxProblem[] } {
  const { problems, complaints } = collectProblems()
  try {
    checkSize(source, complaints)
    return { items: parseDocument(createLexer(source, complaints), complaints), problems }
  } catch (thrown) {
    if (!(thrown instanceof Halted)) throw thrown
    return { items: [], problems }
  }
}

/** Collects at most one problem per line, because later problems in a line usually follow from the first. */
function collectProblems(): { problems: SyntaxProblem[]; complaints: Complaints } {
  const problems: SyntaxProblem[] = []
  const lines = new Set<number>()
  const fail = (span: Span, message: string): void => {
    if (lines.has(span.line)) return
    lines.add(span.line)
    problems.push({ span, message })
    if (problems.length >= maxProblems) throw new Halted()
  }
  const halt = (span: Span, message: string): never => {
    problems.push({ span, message })
    throw new Halted()
  }
  return { problems, complaints: { fail, halt } }
}

function checkSize(source: string, complaints: Complaints): void {
  if (source.length * 3 <= maxDocumentBytes || Buffer.byteLength(source) <= maxDocumentBytes) return
  complaints.halt(
    { line: 1, column: 1, offset: 0, end: source.length },
    `the document is larger than ${maxDocumentBytes / 1024 / 1024} MiB`,
  )
}

function parseDocument(next: () => Token, complaints: Complaints): Item[] {
  let token = next()
  /** The end of the last token. */
  let lastEnd = 0
  let depth = 0
  /** The number of open brackets in the current value, which must be closed when recovering from an error. */
  let openInValue = 0
  return parseItems(undefined)

  /** Reads items up to the `}` of a block, or to the end of the document. */
  function parseItems(opened: Span | undefined): Item[] {
    const items: Item[] = []
    for (;;) {
      if (token.kind === '}' && opened !== undefined) return items
      if (token.kind === 'end') {
        if (opened !== undefined) complaints.fail(opened, 'this "{" is not closed: "}" is missing')
        return items
      }
      const outer = openInValue
      openInValue = 0
      try {
        items.push(parseItem())
        checkCount(items.length, 'a block or the document')
        if (token.kind === ',') advance()
      } catch (thrown) {
        if (!(thrown instanceof Unreadable)) throw thrown
        recover()
      } finally {
        openInValue = outer
      }
    }
  }

  function parseItem(): Item {
    const { span, kind, text: name } = token
    if (kind !== 'name') fail(`expected the name of a field or block, found ${describe(token)}`)
    advance()
    if (isAssignment()) return parseAssignment(name, span)
    const labels = parseLabels()
    if (token.kind !== '{') fail(describeMissingBody(labels.length))
    const opened = token.span
    const body = nested(() => parseItems(opened))
    if (at('}')) advance()
    return {
      type: 'block',
      name,
      labels,
      body: { type: 'object', items: body, span: upToHere(opened) },
      span,
    }
  }

  function isAssignment(): boolean {
    if (token.kind === '+=') fail('"+=" is not supported: write the whole value with "="')
    return token.kind === '=' || token.kind === ':'
  }

  function parseAssignment(name: string, span: Span): Attribute {
    advance()
    return { type: 'attribute', name, value: parseValue(), span }
  }

  function parseLabels(): Label[] {
    const labels: Label[] = []
    while (token.kind === 'text') {
      labels.push({ text: token.text, span: token.span })
      checkCount(labels.length, 'the labels of a block')
      advance()
    }
    return labels
  }

  function describeMissingBody(labels: number): string {
    if (labels > 0) return `expected "{" after the label, found ${describe(token)}`
    const hint = token.kind === 'name' && !token.startsLine ? '; write a label in quotes' : ''
    return `expected "=", ":", a label or "{" after the name, found ${describe(token)}${hint}`
  }

  function parseValue(): Value {
    const { kind, text, number, span } = token
    switch (kind) {
      case 'text':
        advance()
        return { type: 'text', value: text, span }
      case 'number':
        advance()
        return { type: 'number', value: number, span }
      case 'name':
        advance()
        return parseWord(text, span)
      case '[':
        return { type: 'list', items: parseSequence(']', 'a list', parseValue), span: upToHere(span) }
      case '{':
        return parseObject(span)
      default:
        return fail(`expected a value, found ${describe(token)}`)
    }
  }

  function parseWord(word: string, span: Span): Value {
    if (token.kind === '(') {
      const args = parseSequence(')', 'a call', parseValue)
      return { type: 'call', name: word, args, span: upToHere(span) }
    }
    if (word === 'true' || word === 'false') return { type: 'boolean', value: word === 'true', span }
    if (word === 'null') return { type: 'null', span }
    return fail('expected a value, found a bare word: write a string in quotes', span)
  }

  function parseObject(span: Span): ObjectValue {
    const items = parseSequence('}', 'an object', parsePair)
    return { type: 'object', items, span: upToHere(span) }
  }

  function parsePair(): Attribute {
    const { span, kind, text: name } = token
    if (kind !== 'name' && kind !== 'text') fail(`expected the name of a field, found ${describe(token)}`)
    advance()
    if (isAssignment()) return parseAssignment(name, span)
    return fail(`expected "=" or ":" after the name, found ${describe(token)}`)
  }

  /** Reads the items between brackets. Only the fields of an object can omit the commas. */
  function parseSequence<T>(close: TokenKind, what: string, parseOne: () => T): T[] {
    const opened = token.span
    openInValue++
    const found = nested(() => {
      const parts: T[] = []
      while (!at(close)) {
        if (at('end')) fail(`the opening bracket of ${what} is not closed`, opened)
        parts.push(parseOne())
        checkCount(parts.length, what)
        if (at(',')) advance()
        else if (close !== '}' && !at(close) && !at('end')) {
          fail(`expected "," or "${close}" in ${what}, found ${describe(token)}`)
        }
      }
      return parts
    })
    advance()
    openInValue--
    return found
  }

  /** Skips the opening bracket and reads the content. */
  function nested<T>(read: () => T): T {
    if (++depth > maxNesting) complaints.halt(token.span, `nested deeper than ${maxNesting} levels`)
    advance()
    try {
      return read()
    } finally {
      depth--
    }
  }

  function checkCount(count: number, what: string): void {
    if (count > maxItems) complaints.halt(token.span, `more than ${maxItems} items in ${what}`)
  }

  /** Skips to the next possible item: after the open brackets, at a name at the start of a line, or at a `}`. */
  function recover(): void {
    let open = openInValue
    while (token.kind !== 'end') {
      if (open === 0 && token.kind === '}' && depth > 0) return
      if (open === 0 && token.kind === 'name' && token.startsLine) return
      if (token.kind === '{' || token.kind === '[' || token.kind === '(') open++
      if ((token.kind === '}' || token.kind === ']' || token.kind === ')') && open > 0) open--
      advance()
    }
  }

  function at(kind: TokenKind): boolean {
    return token.kind === kind
  }

  function advance(): void {
    lastEnd = token.span.end
    token = next()
  }

  function upToHere(start: Span): Span {
    return { ...start, end: lastEnd }
  }

  function fail(message: string, span = token.span): never {
    complaints.fail(span, message)
    throw new Unreadable()
  }
}

function describe({ kind }: Token): string {
  switch (kind) {
    case 'name':
      return 'a name'
    case 'text':
      return 'a string in quotes'
    case 'number':
      return 'a number'
    case 'end':
      return 'the end of the document'
    case 'fault':
      return 'an unexpected character'
    default:
      return `"${kind}"`
  }
}
