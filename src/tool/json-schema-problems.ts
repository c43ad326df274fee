import type { OutputUnit, Schema, SchemaDraft } from '@cfworker/json-schema'
import { isRecord } from './json.js'
import { nearestNames, quoteNames } from './nearest.js'
import { type ArgumentProblem, closestShape } from './problem.js'
import { patternOf } from './safe-patterns.js'

/** A schema prepared for the validator, with its references by address. */
export type ReadySchema = {
  readonly schema: Schema
  readonly lookup: Record<string, Schema | boolean>
  readonly draft: SchemaDraft
}

const maxErrors = 5000

/** Converts the validator's flat list of errors into problems: only leaf errors, and one branch of each union. */
export function explainSchemaErrors(
  errors: readonly OutputUnit[],
  ready: ReadySchema,
  input: unknown,
): ArgumentProblem[] {
  const problems = explain(errors.slice(0, maxErrors), ready, input)
  if (problems.length > 0) return problems
  // Only a `false` schema leaves no message: the value must not exist at all.
  return [{ path: pathOf(errors.at(-1)?.instanceLocation ?? '#', input), message: 'not allowed here' }]
}

function explain(errors: readonly OutputUnit[], ready: ReadySchema, input: unknown): ArgumentProblem[] {
  const problems: ArgumentProblem[] = []
  let rest = errors
  for (let error = rest[0]; error !== undefined; error = rest[0]) {
    const unit = error
    const isInside = (other: OutputUnit): boolean => isBranchOf(unit, other)
    rest = rest.slice(1)
    if (unit.keyword === 'anyOf' || unit.keyword === 'oneOf') {
      problems.push(...explainUnion(unit, rest.filter(isInside), ready, input))
      rest = rest.filter((other) => !isInside(other))
    } else {
      problems.push(...describeLeaf(unit, ready, input))
    }
  }
  return problems
}

function explainUnion(
  union: OutputUnit,
  inside: readonly OutputUnit[],
  ready: ReadySchema,
  input: unknown,
): readonly ArgumentProblem[] {
  const here = pathOf(union.instanceLocation, input)
  if (/\(([2-9]|\d{2,}) matches\)/.test(union.error))
    return [{ path: here, message: 'fits more than one of the shapes of which it must fit exactly one' }]
  const branches = new Map<string, OutputUnit[]>()
  for (const unit of inside) {
    const branch = unit.keywordLocation.slice(union.keywordLocation.length + 1).split('/')[0] ?? ''
    branches.set(branch, [...(branches.get(branch) ?? []), unit])
  }
  const explained = [...branches.values()].map((units) => explain(units, ready, input))
  return closestShape(explained, here.length) ?? [{ path: here, message: 'fits none of the allowed shapes' }]
}

function isBranchOf(union: OutputUnit, other: OutputUnit): boolean {
  return (
    other.keywordLocation.startsWith(`${union.keywordLocation}/`) &&
    `${other.instanceLocation}/`.startsWith(`${union.instanceLocation}/`)
  )
}

function describeLeaf(unit: OutputUnit, ready: ReadySchema, input: unknown): ArgumentProblem[] {
  const rule = ruleAt(ready, unit.keywordLocation)
  const problem = (message: string, field?: string): ArgumentProblem[] => [
    { path: pathOf(unit.instanceLocation, input, field), message },
  ]
  const fixed = (message: string): ArgumentProblem[] =>
    problem(message).map((one) => ({ ...one, fixed: true }))
  switch (unit.keyword) {
    case 'type':
      return problem(`expected ${[rule].flat().join(' or ')}`)
    case 'required':
      return problem('required field is missing', quotedIn(unit.error))
    case 'enum':
      return fixed(
        Array.isArray(rule)
          ? `expected one of ${rule
              .slice(0, 20)
              .map((item) => JSON.stringify(item))
              .join(', ')}`
          : unit.error,
      )
    case 'const':
      return fixed(`expected ${JSON.stringify(rule)}`)
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return rule === false ? problem(unknownField(unit, ready), quotedIn(unit.error)) : []
    case 'propertyNames':
      return problem(`the name of this field is not allowed`, quotedIn(unit.error))
    case 'not':
      return problem('expected anything but what is excluded here')
    default:
      break
  }
  // A container has no message of its own: the errors inside it have one. `false` belongs to the container around it.
  if (containers.has(unit.keyword) || unit.keywordLocation.includes('/propertyNames/')) return []
  return problem(bounds[unit.keyword]?.(rule) ?? unit.error)
}

const containers = new Set([
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'allOf',
  'if',
  '$ref',
  '$recursiveRef',
  'dependentSchemas',
  'false',
])

const bounds: Readonly<Record<string, (rule: unknown) => string>> = {
  minimum: (rule) => `expected at least ${rule}`,
  maximum: (rule) => `expected at most ${rule}`,
  exclusiveMinimum: (rule) => `expected more than ${rule}`,
  exclusiveMaximum: (rule) => `expected less than ${rule}`,
  multipleOf: (rule) => `expected a multiple of ${rule}`,
  minLength: (rule) => `expected at least ${rule} characters`,
  maxLength: (rule) => `expected at most ${rule} characters`,
  minItems: (rule) => `expected at least ${rule} items`,
  maxItems: (rule) => `expected at most ${rule} items`,
  minProperties: (rule) => `expected at least ${rule} fields`,
  maxProperties: (rule) => `expected at most ${rule} fields`,
  uniqueItems: () => 'expected items that all differ',
  contains: () => 'expected an item of a kind that is not among them',
  pattern: (rule) => `expected text that matches ${rule}`,
  format: (rule) => {
    const pattern = patternOf(rule)
    return pattern === undefined ? `expected the format ${rule}` : `expected text that matches ${pattern}`
  },
}

function unknownField(unit: OutputUnit, ready: ReadySchema): string {
  const field = quotedIn(unit.error)
  const parent = ruleAt(ready, unit.keywordLocation.slice(0, unit.keywordLocation.lastIndexOf('/')))
  const known = isRecord(parent) && isRecord(parent['properties']) ? Object.keys(parent['properties']) : []
  const near = field === undefined ? [] : nearestNames(field, known)
  if (near.length > 0) return `unknown field (did you mean ${quoteNames(near)}?)`
  return known.length > 0
    ? `unknown field (known: ${known.slice(0, 20).join(', ')})`
    : 'unknown field (none are allowed here)'
}

/** Returns the schema's value at a keyword's location, resolved through references; undefined if that fails. */
function ruleAt(ready: ReadySchema, keywordLocation: string): unknown {
  let node: unknown = ready.schema
  for (const segment of segmentsOf(keywordLocation)) {
    if (Array.isArray(node)) node = node[Number(segment)]
    else if (!isRecord(node)) return undefined
    else if (segment === '$ref') node = ready.lookup[String(node['__absolute_ref__'])]
    else node = Object.hasOwn(node, segment) ? node[segment] : undefined
  }
  return node
}

function pathOf(instanceLocation: string, input: unknown, field?: string): (string | number)[] {
  const path: (string | number)[] = []
  let value = input
  for (const segment of segmentsOf(instanceLocation)) {
    const key = Array.isArray(value) ? Number(segment) : segment
    path.push(key)
    value =
      typeof value === 'object' && value !== null
        ? (value as Record<string | number, unknown>)[key]
        : undefined
  }
  return field === undefined ? path : [...path, field]
}

function segmentsOf(location: string): string[] {
  return location
    .split('/')
    .slice(1)
    .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function quotedIn(text: string): string | undefined {
  return /"(.*)"/s.exec(text)?.[1]
}
