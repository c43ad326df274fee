import { quoteNames } from '../../tool/nearest.js'
import type { Value } from './acl/ast.js'
import { type Kind, readFields, readValue, type Shape } from './field.js'
import type { Reading, Spot } from './reading.js'

export const text: Kind<string> = textThat('a string in quotes', (value) => value)

/** A string that must not be shown. */
export const secret: Kind<string> = { ...text, hidden: 'secret' }

export const flag: Kind<boolean> = {
  expects: 'true or false',
  read(value, spot, reading) {
    return value.type === 'boolean' ? value.value : refuse(this.expects, value, spot, reading)
  },
}

/** A whole number of at least `min`. */
export function whole(min: 0 | 1): Kind<number> {
  const expects = min === 0 ? 'a whole number of at least 0' : 'a positive whole number'
  return numberThat(expects, (value) => Number.isSafeInteger(value) && value >= min)
}

/** A number of at least 0, and at most `max`. */
export function amount(max = Number.POSITIVE_INFINITY): Kind<number> {
  const expects = max === Number.POSITIVE_INFINITY ? 'a number of at least 0' : `a number from 0 to ${max}`
  return numberThat(expects, (value) => value >= 0 && value <= max)
}

/** One of several words; `also` has other spellings of them. */
export function word<W extends string>(words: readonly W[], also: Readonly<Record<string, W>> = {}): Kind<W> {
  return textThat(
    `one of ${quoteNames(words)}`,
    (value) => words.find((each) => each === value) ?? (Object.hasOwn(also, value) ? also[value] : undefined),
  )
}

/** A path on this machine. Relative paths are relative to the configuration. */
export const path: Kind<string> = textThat('a path in quotes', (value, reading) => {
  try {
    return value === '' || value.includes('\0') ? undefined : reading.resolvePath(value)
  } catch {
    // A file: URL with another host is not a path on this machine.
    return undefined
  }
})

/** A path or a URL, depending on the store that uses it. */
export const location: Kind<string> = {
  ...textThat('a path or a URL in quotes', (value) => value || undefined),
  hidden: 'address',
}

export const address: Kind<string> = {
  ...textThat('a URL in quotes that starts with http:// or https://', (value) =>
    URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined,
  ),
  hidden: 'address',
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

export const header: Kind<string> = textThat('the name of an HTTP header', (value) =>
  headerName.test(value) ? value : undefined,
)

/** The name of a provider, a slash, and the name of a model: `openai/gpt-4`. */
export const modelName: Kind<string> = textThat('a string of the form "provider/model"', (value) =>
  /^[^/]+\/.+$/s.test(value) ? value : undefined,
)

export function listOf<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    expects: `a list, each item ${kind.expects}`,
    read(value, spot, reading) {
      if (value.type !== 'list') return refuse(this.expects, value, spot, reading)
      const items = value.items.map((item, at) =>
        readPart(kind, item, { ...spot, path: `${spot.path}[${at}]` }, reading),
      )
      // Dropping an item would change the meaning of the list, for example of arguments.
      return items.every((item) => item !== undefined) ? items : undefined
    },
  }
}

/** A list, or a single value for a list of one item. */
export function oneOrMore<T>(kind: Kind<T>): Kind<readonly T[]> {
  const list = listOf(kind)
  return {
    expects: `${kind.expects}, or a list of them`,
    read(value, spot, reading) {
      if (value.type === 'list') return list.read(value, spot, reading)
      const one = kind.read(value, spot, reading)
      return one === undefined ? undefined : [one]
    },
  }
}

/** A boolean, or a more specific value. */
export function flagOr<T>(kind: Kind<T>): Kind<boolean | T> {
  return {
    expects: `${flag.expects}, or ${kind.expects}`,
    read(value, spot, reading) {
      return value.type === 'boolean' ? value.value : kind.read(value, spot, reading)
    },
  }
}

/** An object with names that the user chooses, each with a value. */
function mapOf<T>(kind: Kind<T>): Kind<Readonly<Record<string, T>>> {
  return {
    expects: `an object, each value ${kind.expects}`,
    read(value, spot, reading) {
      if (value.type !== 'object') return refuse(this.expects, value, spot, reading)
      const entries: [string, T][] = []
      for (const item of value.items) {
        const at = entrySpot(spot, item.name, item)
        const found =
          item.type === 'block'
            ? readValue(kind, item.body, at, reading)
            : readValue(kind, item.value, at, reading)
        if (item.name === '__proto__') reading.fail(at, `${spot.path} has a field with an invalid name`)
        else if (found !== undefined) entries.push([item.name, found])
      }
      return Object.fromEntries(entries)
    },
  }
}

export const secretMap: Kind<Readonly<Record<string, string>>> = { ...mapOf(text), hidden: 'secrets' }

export const headers: Kind<Readonly<Record<string, string>>> = {
  ...secretMap,
  read(value, spot, reading) {
    const found = secretMap.read(value, spot, reading)
    // A line break in a header would start another header.
    const sound = Object.entries(found ?? {}).every(
      ([name, value]) => headerName.test(name) && !/[\r\n\0]/.test(value),
    )
    if (!sound) reading.fail(spot, `${spot.path} contains characters that an HTTP header cannot have`)
    return found
  },
}

/** An object or block with its own fields. */
export function group<T extends object>(shape: Shape<T>): Kind<Partial<T>> {
  return {
    expects: 'a block or an object',
    fields: shape,
    read(value, spot, reading) {
      if (value.type !== 'object') return refuse(this.expects, value, spot, reading)
      return readFields(shape, value.items, spot, reading)
    },
  }
}

/** An object with names that the user chooses, each with fields. */
export function groups<T extends object>(shape: Shape<T>): Kind<Readonly<Record<string, Partial<T>>>> {
  return {
    ...mapOf(group(shape)),
    expects: 'a block with a block for each name',
    fields: shape,
    named: true,
  }
}

/** Reports a value of the wrong type, without showing the value. */
export function refuse(expects: string, value: Value, spot: Spot, reading: Reading): undefined {
  const at = value.span === undefined ? spot : { ...spot, span: value.span }
  reading.fail(at, `${spot.path} must be ${expects}, found ${describe(value)}`)
  return undefined
}

/**
 * The position of a named entry. A name from an object can be shown. A name from a text is not shown, because it can be
 * a key that was put there by mistake.
 */
export function entrySpot(spot: Spot, name: string, { span }: Pick<Spot, 'span'>): Spot {
  return span === undefined ? { path: `${spot.path}.${name.slice(0, 60)}` } : { path: spot.path, span }
}

function textThat<T>(expects: string, accept: (text: string, reading: Reading) => T | undefined): Kind<T> {
  return {
    expects,
    read(value, spot, reading) {
      if (value.type !== 'text') return refuse(expects, value, spot, reading)
      const found = accept(value.value, reading)
      if (found === undefined) reading.fail(spot, `${spot.path} must be ${expects}; this string is not`)
      return found
    },
  }
}

function numberThat(expects: string, accept: (number: number) => boolean): Kind<number> {
  return {
    expects,
    read(value, spot, reading) {
      if (value.type !== 'number') return refuse(expects, value, spot, reading)
      if (accept(value.value)) return value.value
      reading.fail(spot, `${spot.path} must be ${expects}; this number is not`)
      return undefined
    },
  }
}

function readPart<T>(kind: Kind<T>, value: Value, spot: Spot, reading: Reading): T | undefined {
  return value.type === 'null'
    ? refuse(kind.expects, value, spot, reading)
    : readValue(kind, value, spot, reading)
}

function describe(value: Value): string {
  return value.type === 'foreign' ? value.what : descriptions[value.type]
}

const descriptions: Readonly<Record<Exclude<Value['type'], 'foreign'>, string>> = {
  text: 'a string',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  list: 'a list',
  object: 'an object',
  call: 'a call',
}
