import type { OutputUnit, Schema, SchemaDraft } from '@cfworker/json-schema'
import { isRecord } from './json.js'
import { nearestNames, quoteNames } from './nearest.js'
import type { ArgumentProblem } from './problem.js'
import { closestBranch } from './standard-schema.js'

/** A schema the ready can work with: its references are looked up by address. */
export type ReadySchema = {
  readonly schema: Schema
  readonly lookup: Record<string, Schema | boolean>
  readonly draft: SchemaDraft
}

const mostErrors = 200

/** Turns a validator's flat list of errors into problems with words: leaves only, one branch of each union. */
export function explainSchemaErrors(
  errors: readonly OutputUnit[],
  ready: ReadySchema,
  input: unknown,
): ArgumentProblem[] {
  const problems = explain(errors.slice(0, mostErrors), ready, input)
  if (problems.length > 0) return problems
  // Only a `false` schema leaves nothing to say in words: the value must not be there at all.
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
      const message = describeLeaf(unit, ready)
      if (message !== undefined)
        problems.push(
          ...message.map((one) => ({
            path: pathOf(unit.instanceLocation, input, one.field),
            message: one.message,
          })),
        )
    }
  }
  return problems
}

function explainUnion(
  union: OutputUnit,
  inside: readonly OutputUnit[],
  ready: ReadySchema,
  input: unknown,
): ArgumentProblem[] {
  const here = pathOf(union.instanceLocation, input)
  if (/\(([2-9]|\d{2,}) matches\)/.test(union.error))
    return [{ path: here, message: 'fits more than one of the shapes of which it must fit exactly one' }]
  const branches = new Map<string, OutputUnit[]>()
  for (const unit of inside) {
    const branch = unit.keywordLocation.slice(union.keywordLocation.length + 1).split('/')[0] ?? ''
    branches.set(branch, [...(branches.get(branch) ?? []), unit])
  }
  const explained = [...branches.values()].map((units) => explain(units, ready, input))
  return closestBranch(explained) ?? [{ path: here, message: 'fits none of the allowed shapes' }]
}

function isBranchOf(union: OutputUnit, other: OutputUnit): boolean {
  return (
    other.keywordLocation.startsWith(`${union.keywordLocation}/`) &&
    `${other.instanceLocation}/`.startsWith(`${union.instanceLocation}/`)
  )
}

/** `field` names the member that is meant, where the error speaks of its parent. */
type Leaf = { message: string; field?: string }

function describeLeaf(unit: OutputUnit, ready: ReadySchema): Leaf[] | undefined {
  const rule = ruleAt(ready, unit.keywordLocation)
  switch (unit.keyword) {
    case 'type':
      return [{ message: `expected ${[rule].flat().join(' or ')}` }]
    case 'required': {
      const field = quotedIn(unit.error)
      return [{ message: 'required field is missing', ...(field === undefined ? {} : { field }) }]
    }
    case 'enum':
      return Array.isArray(rule)
        ? [
            {
              message: `expected one of ${rule
                .slice(0, 20)
                .map((item) => JSON.stringify(item))
                .join(', ')}`,
            },
          ]
        : [{ message: unit.error }]
    case 'const':
      return [{ message: `expected ${JSON.stringify(rule)}` }]
    case 'minimum':
      return [{ message: `expected at least ${rule}` }]
    case 'maximum':
      return [{ message: `expected at most ${rule}` }]
    case 'exclusiveMinimum':
      return [{ message: `expected more than ${rule}` }]
    case 'exclusiveMaximum':
      return [{ message: `expected less than ${rule}` }]
    case 'multipleOf':
      return [{ message: `expected a multiple of ${rule}` }]
    case 'minLength':
      return [{ message: `expected at least ${rule} characters` }]
    case 'maxLength':
      return [{ message: `expected at most ${rule} characters` }]
    case 'minItems':
      return [{ message: `expected at least ${rule} items` }]
    case 'maxItems':
      return [{ message: `expected at most ${rule} items` }]
    case 'pattern':
      return [{ message: `expected text that matches ${rule}` }]
    case 'format':
      return [{ message: `expected the format ${rule}` }]
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return rule === false ? [unknownField(unit, ready)] : undefined
    case 'properties':
    case 'patternProperties':
    case 'items':
    case 'prefixItems':
    case 'additionalItems':
    case 'allOf':
    case 'if':
    case '$ref':
    case '$recursiveRef':
    case 'dependentSchemas':
    case 'dependencies':
    case 'propertyNames':
    case 'false':
      // Containers: what is wrong is said by the errors inside them. `false` belongs to the container that said it.
      return undefined
    default:
      return [{ message: unit.error }]
  }
}

function unknownField(unit: OutputUnit, ready: ReadySchema): Leaf {
  const field = quotedIn(unit.error)
  const parent = ruleAt(ready, unit.keywordLocation.slice(0, unit.keywordLocation.lastIndexOf('/')))
  const known = isRecord(parent) && isRecord(parent['properties']) ? Object.keys(parent['properties']) : []
  const near = field === undefined ? [] : nearestNames(field, known)
  const hint =
    near.length > 0
      ? `did you mean ${quoteNames(near)}?`
      : known.length > 0
        ? `known: ${known.slice(0, 20).join(', ')}`
        : 'none are allowed here'
  return { message: `unknown field (${hint})`, ...(field === undefined ? {} : { field }) }
}

/** What the schema says at a keyword's place, followed through references; undefined where it cannot be followed. */
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
