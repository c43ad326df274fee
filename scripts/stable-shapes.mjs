// Makes objects with a copy of another share their hidden classes, and cheaper to create.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseSync, Visitor } from 'rolldown/utils'

/**
 * Rewrites `{ ...one, more }` to `{ ...null, ...one, more }`, which means the same. V8 of Node 20 copies the first
 * spread with a hidden class that it keeps for no second object, so every such object gets one of its own: 2.5 µs where
 * the rewritten form takes 0.1, 200 bytes more for each object that stays, and all code that reads them sees objects of
 * many kinds. Later versions of V8 share the class and take 0.1 µs longer for the rewritten form. A round builds about
 * 40 of them.
 *
 * Rewrites `{ ...one, b, c }` to `{ ...one, ...{ b, c } }` too: V8 defines each field after a copy by a call into its
 * C++ code, which takes three times as long as creating a second object and copying it, also in optimised code that has
 * seen objects of several classes. For a single field the gain is small, so it stays.
 * @param {string} path
 */
export function stableShapes(path) {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, withStableShapes(path, text))
}

/** @param {string} path @param {string} text */
export function withStableShapes(path, text) {
  const { program, errors } = parseSync(path, text, {
    sourceType: path.endsWith('.cjs') || path.includes('/cli/') ? 'commonjs' : 'module',
  })
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join('; ')}`)
  /** @type {Insertion[]} */
  const insertions = []
  new Visitor({
    ObjectExpression(object) {
      insertions.push(...insertionsFor(object, text))
    },
  }).visit(program)
  const pieces = []
  let from = 0
  for (const { at, inserted } of insertions.toSorted((a, b) => a.at - b.at)) {
    pieces.push(text.slice(from, at), inserted)
    from = at
  }
  return [...pieces, text.slice(from)].join('')
}

/** @typedef {{ at: number, inserted: string }} Insertion */

/**
 * The texts to insert into an object. `fields`: also those for fields after a copy.
 * @param {import('@oxc-project/types').ObjectExpression} object @param {string} text @param {{ fields?: boolean }} [options]
 * @returns {Insertion[]}
 */
export function insertionsFor({ properties }, text, { fields: movesFields = true } = {}) {
  const [first, second] = properties
  // A copy of one object alone has the hidden class of that object.
  const isCopy = first?.type === 'SpreadElement' && second !== undefined
  /** @type {Insertion[]} */
  const insertions = isCopy ? [{ at: first.start, inserted: '...null, ' }] : []
  const copied = properties.findIndex(({ type }) => type === 'SpreadElement')
  if (copied < 0 || !movesFields) return insertions
  /** @type {Fields | undefined} */
  let fields
  for (const property of properties.slice(copied + 1)) {
    if (isPlainField(property, text))
      fields = { start: fields?.start ?? property.start, end: property.end, count: (fields?.count ?? 0) + 1 }
    else {
      insertions.push(...inOneObject(fields))
      fields = undefined
    }
  }
  return [...insertions, ...inOneObject(fields)]
}

/** @typedef {{ start: number, end: number, count: number }} Fields */

/** For one field the gain is small. @param {Fields | undefined} fields @returns {Insertion[]} */
function inOneObject(fields) {
  if (fields === undefined || fields.count < 2) return []
  const { start, end } = fields
  return [
    { at: start, inserted: '...{' },
    { at: end, inserted: '}' },
  ]
}

/**
 * Whether a field means the same in an object that is copied: an accessor would be called, `__proto__` and `super` are
 * of the object itself.
 * @param {import('@oxc-project/types').ObjectPropertyKind} property @param {string} text
 */
function isPlainField(property, text) {
  if (property.type === 'SpreadElement' || property.kind !== 'init' || property.computed) return false
  const { start, end } = property.key
  if (/__proto__/.test(text.slice(start, end))) return false
  return !property.method || !/\bsuper\b/.test(text.slice(property.start, property.end))
}
