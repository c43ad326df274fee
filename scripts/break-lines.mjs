// Breaks long lines of the built scripts, so that errors and debuggers show readable lines.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseSync, Visitor } from 'rolldown/utils'

const maxLength = 160

/**
 * Rewrites a script with line breaks in its long lines: in lists of imports and exports, and in the expressions of
 * libraries that are published minified. Breaks only where a comma, an operator or a bracket comes before, so a
 * statement never ends early. A long string or regular expression stays in one line.
 * @param {string} path
 */
export function breakLines(path) {
  const text = readFileSync(path, 'utf8')
  if (!text.split('\n').some(isLong)) return
  const places = breakPlaces(path, text)
  const lines = []
  let start = 0
  for (const line of text.split('\n')) {
    lines.push(isLong(line) ? broken(line, start, places) : line)
    start += line.length + 1
  }
  writeFileSync(path, lines.join('\n'))
}

/** @param {string} line */
function isLong(line) {
  return line.length > maxLength
}

/**
 * The positions at which a line can be broken, in order.
 * @param {string} path @param {string} text
 */
function breakPlaces(path, text) {
  /** @type {number[]} */
  const places = []
  const before = (/** @type {{ start: number } | null | undefined} */ node) => {
    if (node) places.push(node.start)
  }
  const beforeEach = (/** @type {readonly ({ start: number } | null)[]} */ nodes) => {
    for (const node of nodes) before(node)
  }
  const { program, errors } = parseSync(path, text, {
    sourceType: path.endsWith('.cjs') || path.includes('/cli/') ? 'commonjs' : 'module',
  })
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join('; ')}`)
  new Visitor({
    ImportSpecifier: before,
    ExportSpecifier: before,
    ObjectExpression: ({ properties }) => beforeEach(properties),
    ObjectPattern: ({ properties }) => beforeEach(properties),
    ArrayExpression: ({ elements }) => beforeEach(elements),
    CallExpression: ({ arguments: args }) => beforeEach(args),
    NewExpression: ({ arguments: args }) => beforeEach(args),
    SequenceExpression: ({ expressions }) => beforeEach(expressions.slice(1)),
    LogicalExpression: ({ right }) => before(right),
    BinaryExpression: ({ right }) => before(right),
    AssignmentExpression: ({ right }) => before(right),
    ConditionalExpression: ({ consequent, alternate }) => beforeEach([consequent, alternate]),
    VariableDeclaration: ({ declarations }) => beforeEach(declarations.slice(1)),
  }).visit(program)
  return places.sort((a, b) => a - b)
}

/**
 * Breaks at the last place before the line grows too long, or else at the next one.
 * @param {string} line @param {number} start @param {readonly number[]} places
 */
function broken(line, start, places) {
  const indent = `${/^\t*/.exec(line)?.[0] ?? ''}\t`
  const inLine = places.slice(firstAtLeast(places, start + 1))
  const pieces = []
  let from = 0
  let last = 0
  for (const place of inLine) {
    const at = place - start
    if (at >= line.length) break
    if (at - from > maxLength && last > from) {
      pieces.push(line.slice(from, last))
      from = last
    }
    last = at
  }
  if (line.length - from > maxLength && last > from) {
    pieces.push(line.slice(from, last))
    from = last
  }
  // The end of the line is not changed: it may be in the middle of a template.
  return [...pieces.map((piece) => piece.trimEnd()), line.slice(from)].join(`\n${indent}`)
}

/** @param {readonly number[]} sorted @param {number} least */
function firstAtLeast(sorted, least) {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}
