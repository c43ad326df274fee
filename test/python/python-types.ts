import type { JsonSchema } from '../../src/tool/json.js'
import { isRecord } from '../../src/tool/json.js'

/** The source of `capstan/types.py`: a TypedDict for each schema, and the names of all events and their fields. */
export function pythonTypes(
  schemas: Readonly<Record<string, JsonSchema>>,
  events: Readonly<Record<string, readonly string[]>>,
): string {
  const names = Object.keys(events)
  const fields = [...new Set(names.flatMap((name) => events[name] ?? []))].sort()
  return `${[
    '# Written by test/python/types.test.ts with UPDATE_PYTHON=1 from the schemas of the server. Do not edit.',
    '"""JSON of Capstan as it is sent: what `.raw` has, and the answers of the server."""',
    '',
    'from __future__ import annotations',
    '',
    'from typing import Any, Dict, FrozenSet, List, Literal, TypedDict, Union',
    '',
    `EventType = Literal[\n${names.map((name) => `    "${name}",\n`).join('')}]`,
    '',
    '# The fields of all events, in snake_case.',
    `EVENT_FIELDS: FrozenSet[str] = frozenset(\n    [\n${fields.map((name) => `        "${snake(name)}",\n`).join('')}    ]\n)`,
    ...Object.entries(schemas).map(([name, schema]) => typedDict(name, schema)),
  ].join('\n')}\n`
}

function typedDict(name: string, schema: JsonSchema): string {
  const { properties, required } = schema
  const fields = Object.entries(isRecord(properties) ? properties : {})
  const needed = Array.isArray(required) ? required : []
  if (fields.length === 0) return `\n\n${name} = Dict[str, Any]`
  const lines = (own: typeof fields): string =>
    own.map(([field, value]) => `    ${field}: ${hint(value)}\n`).join('')
  const always = fields.filter(([field]) => needed.includes(field))
  const maybe = fields.filter(([field]) => !needed.includes(field))
  // Python 3.10 has no NotRequired: fields that can be absent are in a class of their own.
  const whole = always.length === 0 || maybe.length === 0
  const total = always.length === 0 ? ', total=False' : ''
  if (whole) return `\n\nclass ${name}(TypedDict${total}):\n${lines(fields)}`.trimEnd()
  return `\n\nclass _${name}Always(TypedDict):\n${lines(always)}\n\nclass ${name}(_${name}Always, total=False):\n${lines(maybe)}`.trimEnd()
}

function hint(schema: unknown): string {
  if (!isRecord(schema)) return 'Any'
  const { type, enum: values, items, $ref: ref } = schema
  if (typeof ref === 'string') return `"${ref.split('/').at(-1)}"`
  if (Array.isArray(values)) return `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`
  if (Array.isArray(type)) return `Union[${type.map((one) => hint({ ...schema, type: one })).join(', ')}]`
  if (type === 'array') return `List[${hint(items)}]`
  return simple[String(type)] ?? 'Any'
}

const simple: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
  object: 'Dict[str, Any]',
}

export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
