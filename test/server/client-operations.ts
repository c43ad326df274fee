import { isRecord } from '../../src/tool/json.js'

type Body = Readonly<Record<string, unknown>>

/** The source of `src/client/operations.ts`, made from the OpenAPI document. */
export function operationsSource(document: Body): string {
  const schemas = recordIn(recordIn(document, 'components'), 'schemas')
  const operations = Object.entries(recordIn(document, 'paths')).flatMap(([path, methods]) =>
    Object.entries(isRecord(methods) ? methods : {}).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: isRecord(operation) ? operation : {},
    })),
  )
  const lines = [
    '// Written by test/server/client-operations.test.ts with UPDATE_CLIENT=1 from the table of routes. Do not edit.',
    '',
    '/** Every operation of the server: its method and path. */',
    'export const operations = {',
    ...operations.map(({ method, path, operation }) => `  ${operation['operationId']}: '${method} ${path}',`),
    '} as const',
    '',
    ...Object.entries(schemas).flatMap(([name, schema]) => [
      `export type ${nameOf(name)} = ${typeOf(schema)}`,
      '',
    ]),
    'type InSession = { sessionId: string }',
    'type InRun = { sessionId: string; runId: string }',
    'type Headers = { headers?: Record<string, string> | undefined }',
    'type Operation<Input, Output> = { input: Input & Headers; output: Output }',
    '',
    '/** The input and the output of each operation. */',
    'export type Operations = {',
    ...operations.map(
      ({ operation }) =>
        `  ${operation['operationId']}: Operation<${inputOf(operation)}, ${outputOf(operation)}>`,
    ),
    '}',
    '',
  ]
  return lines.join('\n')
}

function inputOf(operation: Body): string {
  const given: unknown[] = Array.isArray(operation['parameters']) ? operation['parameters'] : []
  const parameters = given.filter(isRecord)
  const group = (place: string): string[] => {
    const own = parameters.filter((one) => one['in'] === place)
    if (own.length === 0) return []
    const fields = own.map(
      (one) =>
        `${keyOf(one['name'])}${one['required'] === true ? '' : '?'}: ${typeOf(one['schema'])}${one['required'] === true ? '' : ' | undefined'}`,
    )
    return [`{ ${fields.join('; ')} }`]
  }
  const body = recordIn(recordIn(recordIn(operation, 'requestBody'), 'content'), 'application/json')['schema']
  const isRequired = recordIn(operation, 'requestBody')['required'] === true
  const fields = [
    ...group('path').map((type) => `params: ${namedParams[type] ?? type}`),
    ...group('query').map((type) => `query?: ${type} | undefined`),
    ...(body === undefined
      ? []
      : [`body${isRequired ? '' : '?'}: ${typeOf(body)}${isRequired ? '' : ' | undefined'}`]),
  ]
  return fields.length === 0 ? 'unknown' : `{ ${fields.join('; ')} }`
}

/** The parameters that most paths have, by the name of their type. */
const namedParams: Readonly<Record<string, string>> = {
  '{ sessionId: string }': 'InSession',
  '{ sessionId: string; runId: string }': 'InRun',
}

function outputOf(operation: Body): string {
  const types = Object.entries(recordIn(operation, 'responses')).flatMap(([status, response]) => {
    if (!status.startsWith('2')) return []
    const content = Object.entries(recordIn(response, 'content'))[0]
    if (content === undefined) return ['undefined']
    const [type, { schema }] = content as [string, Body]
    return [type === 'application/json' ? typeOf(schema) : 'string']
  })
  return [...new Set(types)].join(' | ') || 'undefined'
}

function typeOf(schema: unknown): string {
  if (!isRecord(schema)) return 'unknown'
  const { $ref: named, type, enum: values, properties, items, additionalProperties } = schema
  if (typeof named === 'string') return nameOf(named.split('/').at(-1) ?? 'unknown')
  if (Array.isArray(values))
    return values.map((value) => (value === null ? 'null' : `'${String(value)}'`)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ type: one })).join(' | ')
  if (type === 'array') return `(${typeOf(items)})[]`
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type !== 'object') return 'unknown'
  if (!isRecord(properties)) return 'Record<string, unknown>'
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const fields = Object.entries(properties).map(([name, one]) => {
    const isRequired = required.includes(name)
    return `${keyOf(name)}${isRequired ? '' : '?'}: ${typeOf(one)}${isRequired ? '' : ' | undefined'}`
  })
  if (additionalProperties === true) fields.push('[more: string]: unknown')
  return `{ ${fields.join('; ')} }`
}

function keyOf(name: unknown): string {
  const text = String(name)
  return /^\w+$/.test(text) ? text : `'${text}'`
}

function recordIn(value: unknown, key: string): Body {
  const found = isRecord(value) ? value[key] : undefined
  return isRecord(found) ? found : {}
}

/** `Event` is a name of browsers. */
function nameOf(name: string): string {
  return name === 'Event' ? 'EventData' : name
}
