// Makes objects that begin with a copy of another share their hidden classes.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseSync, Visitor } from 'rolldown/utils'

/**
 * Rewrites `{ ...one, more }` to `{ ...null, ...one, more }`, which means the same. V8 of Node 20 copies the first
 * spread with a hidden class that it keeps for no second object, so every such object gets one of its own: 2.5 µs where
 * the rewritten form takes 0.1, 200 bytes more for each object that stays, and all code that reads them sees objects of
 * many kinds. Later versions of V8 share the class and take 0.1 µs longer for the rewritten form. A round builds about
 * 40 of them.
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
  /** @type {number[]} */
  const places = []
  new Visitor({
    ObjectExpression(object) {
      const at = placeForNothing(object)
      if (at !== undefined) places.push(at)
    },
  }).visit(program)
  const pieces = []
  let from = 0
  for (const place of places.toSorted((a, b) => a - b)) {
    pieces.push(text.slice(from, place), nothing)
    from = place
  }
  return [...pieces, text.slice(from)].join('')
}

/** The text that is inserted before the first copy. */
export const nothing = '...null, '

/** The position of that text in an object that begins with a copy of another. @param {import('@oxc-project/types').ObjectExpression} object */
export function placeForNothing({ properties: [first, second] }) {
  // A copy of one object alone has the hidden class of that object.
  return first?.type === 'SpreadElement' && second !== undefined ? first.start : undefined
}
