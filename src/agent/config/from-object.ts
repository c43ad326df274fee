import type { Item, Value } from './acl/ast.js'
import { maxItems, maxNesting } from './acl/limits.js'
import { ConfigError } from './config-error.js'

/** Converts a configuration object to the tree that ACL parses to. Later changes of the object have no effect. */
export function itemsOfObject(input: object): readonly Item[] {
  const value = readTree(input)
  if (value.type === 'object') return value.items
  throw new ConfigError('The configuration must be ACL text, the path of an .acl file, or a plain object')
}

function readTree(input: object): Value {
  try {
    return toValue(input, '', 0)
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError('The configuration cannot be read: one of its getters or proxies throws', [], {
      cause,
    })
  }
}

function toValue(input: unknown, path: string, depth: number): Value {
  if (depth > maxNesting)
    throw new ConfigError(`${path.slice(0, 80)}… is nested deeper than ${maxNesting} levels`)
  switch (typeof input) {
    case 'string':
      return { type: 'text', value: input }
    case 'number':
      return Number.isFinite(input)
        ? { type: 'number', value: input }
        : { type: 'foreign', what: 'a number that is not finite' }
    case 'boolean':
      return { type: 'boolean', value: input }
    case 'undefined':
      return { type: 'null' }
    case 'object':
      return input === null ? { type: 'null' } : compositeOf(input, path, depth)
    default:
      return { type: 'foreign', what: `a ${typeof input}` }
  }
}

function compositeOf(input: object, path: string, depth: number): Value {
  if (Array.isArray(input)) {
    checkCount(input.length, path)
    return { type: 'list', items: input.map((item, at) => toValue(item, `${path}[${at}]`, depth + 1)) }
  }
  const prototype: unknown = Object.getPrototypeOf(input)
  // An object from another realm has a different Object.prototype, whose prototype is also null.
  const plain =
    prototype === null || (typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null)
  if (!plain) return { type: 'foreign', what: 'an object that is not plain' }
  const entries = Object.entries(input)
  checkCount(entries.length, path)
  return {
    type: 'object',
    items: entries.map(([name, value]) => ({
      type: 'attribute',
      name,
      value: toValue(value, path === '' ? name : `${path}.${name}`, depth + 1),
    })),
  }
}

function checkCount(count: number, path: string): void {
  if (count > maxItems)
    throw new ConfigError(`${path || 'The configuration'} has more than ${maxItems} items`)
}
