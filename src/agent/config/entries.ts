import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Item, Value } from './acl/ast.js'
import { type Kind, readFields, type Shape, type Table } from './field.js'
import { entrySpot, refuse } from './kinds.js'
import type { Reading, Spot } from './reading.js'

/** A kind of named entries: providers, models, servers. */
export type EntryKind<F extends object, T> = {
  readonly shape: Shape<F>
  /** The field with the name, for entries in a list. */
  readonly nameField: string
  /** An example of a block with its label, for the message about a missing label. */
  readonly example: string
  /** Creates the entry from its fields. */
  make(name: string, fields: Partial<F>, from: Origin): T
}

export type Origin = {
  readonly spot: Spot
  readonly reading: Reading
  /** The names of the given fields, including those without a value. */
  readonly given: ReadonlySet<string>
}

/** A declared entry with its name. */
type Declared = { readonly name: string; readonly items: readonly Item[]; readonly spot: Spot }

/**
 * Reads named entries in three forms: a block per entry (`models "a" { ... }`), an object with a member per entry, or a
 * list of objects with a name. If two have the same name, the last one is used.
 */
export function entries<F extends object, T>(kind: EntryKind<F, T>): Kind<readonly T[]> {
  const { shape, nameField } = kind
  const fields: Table = shape
  const expects = `a block with a label, an object of objects, or a list of objects with "${nameField}"`
  return {
    expects,
    fields,
    named: true,
    read: (value, spot, reading) => finish(declaredIn(value, spot, reading), spot, reading),
    readAll: (items, spot, reading) => {
      const declared = items.flatMap((item) => {
        const at = { path: spot.path, ...omitUndefined({ span: item.span }) }
        return item.type === 'block' ? declaredBy(item, at, reading) : declaredIn(item.value, at, reading)
      })
      return finish(declared, spot, reading)
    },
  }

  function finish(declared: readonly Declared[], spot: Spot, reading: Reading): readonly T[] {
    const byName = new Map<string, Declared>()
    for (const entry of declared) {
      if (byName.has(entry.name)) {
        reading.warn(entry.spot, `${spot.path} declares a name twice; the last one, here, is used`)
        byName.delete(entry.name)
      }
      byName.set(entry.name, entry)
    }
    return [...byName.values()].map(({ name, items, spot: at }) => {
      const given = new Set(items.map((item) => item.name))
      return kind.make(name, readFields(shape, items, at, reading), { spot: at, reading, given })
    })
  }

  function declaredBy(block: Item & { type: 'block' }, spot: Spot, reading: Reading): Declared[] {
    const [label, ...more] = block.labels
    if (label === undefined || label.text === '') {
      reading.fail(spot, `${block.name} block requires a label (e.g., ${block.name} ${kind.example})`)
      return []
    }
    if (more.length > 0) reading.fail(spot, `${spot.path} takes one label, found ${block.labels.length}`)
    return [{ name: label.text, items: block.body.items, spot: entrySpot(spot, label.text, block) }]
  }

  function declaredIn(value: Value, spot: Spot, reading: Reading): Declared[] {
    if (value.type === 'null') return []
    if (value.type === 'object') {
      return value.items.flatMap((item): Declared[] => {
        const at = entrySpot(spot, item.name, item)
        const body = item.type === 'block' ? item.body : item.value
        if (body.type === 'null') return []
        if (body.type === 'object' && item.name !== '')
          return [{ name: item.name, items: body.items, spot: at }]
        refuse('a block or an object', body, at, reading)
        return []
      })
    }
    if (value.type === 'list') {
      return value.items.flatMap((item, at) =>
        listed(item, { ...spot, path: `${spot.path}[${at}]` }, reading),
      )
    }
    refuse(expects, value, spot, reading)
    return []
  }

  function listed(value: Value, spot: Spot, reading: Reading): Declared[] {
    const at = value.span === undefined ? spot : { ...spot, span: value.span }
    if (value.type === 'text' && value.value !== '') return [{ name: value.value, items: [], spot: at }]
    if (value.type !== 'object') {
      refuse(`an object with "${nameField}"`, value, at, reading)
      return []
    }
    const naming = value.items.findLast((item) => item.name === nameField)
    if (naming?.type !== 'attribute' || naming.value.type !== 'text' || naming.value.value === '') {
      reading.fail(at, `${at.path} requires "${nameField}", a string that is not empty`)
      return []
    }
    const items = value.items.filter((item) => item.name !== nameField)
    return [{ name: naming.value.value, items, spot: at }]
  }
}
