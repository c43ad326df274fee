import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema'
import { assertJsonSchema, assertReferences } from './assert-json-schema.js'
import { messageOf } from './errors.js'
import { isFrozenCopy } from './frozen-copy.js'
import type { JsonSchema } from './json.js'
import { explainSchemaErrors, type ReadySchema } from './json-schema-problems.js'
import { copyJson } from './json-text.js'
import { CheckTooLargeError } from './linear-pattern.js'
import { makePatternsSafe, schemaNodes } from './safe-patterns.js'
import { metered, withinBudget } from './schema-budget.js'
import type { Validation } from './validation.js'

/** A JSON Schema compiled for checking values. */
type CompiledSchema = {
  check(input: unknown): Validation<unknown>
}

const compiled = new WeakMap<JsonSchema, CompiledSchema>()

/** Above this many values only the first problems are collected: a million fields must not cause a million errors. */
const smallValue = 5000

/**
 * Compiles a JSON Schema (draft 2020-12, 2019-09, 07 or 04, by its `$schema`). The result is cached for schemas that
 * cannot change. Throws `TypeError` when the value is not a schema.
 */
export function compileJsonSchema(schema: JsonSchema): CompiledSchema {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const ready = makeReady(schema)
  const made: CompiledSchema = { check: (input) => check(ready, input) }
  // A schema that can still change is compiled each time: the checked schema must be the published one.
  if (isFrozenCopy(schema)) compiled.set(schema, made)
  return made
}

function makeReady(schema: JsonSchema): ReadySchema {
  assertSchema(schema)
  // The validator annotates the schema, which may be frozen or shared.
  const own = structuredClone(schema) as Schema
  const nodes = schemaNodes(own)
  makePatternsSafe(nodes)
  let lookup: ReadySchema['lookup']
  try {
    lookup = dereference(own)
  } catch (cause) {
    throw new TypeError(`Not a JSON Schema: ${messageOf(cause)}`, { cause })
  }
  assertReferences(own, lookup)
  metered(nodes)
  return { schema: own, lookup, draft: draftOf(schema) }
}

function assertSchema(schema: JsonSchema): void {
  try {
    assertJsonSchema(schema)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new TypeError('Not a JSON Schema: it is nested too deeply', { cause })
  }
}

function check(ready: ReadySchema, input: unknown): Validation<unknown> {
  let value: unknown
  let errors: OutputUnit[]
  try {
    // A copy: the checked value must not change before it is approved or run.
    const copied = copyJson(input)
    value = copied.value
    const run = (stopAtFirst: boolean): OutputUnit[] | undefined =>
      withinBudget(value, copied.values, () => {
        const { valid, errors } = validate(value, ready.schema, ready.draft, ready.lookup, stopAtFirst)
        return valid ? undefined : errors
      })
    const first = run(true)
    if (first === undefined) return { ok: true, value }
    errors = copied.values <= smallValue ? (allErrors(run) ?? first) : first
  } catch (error) {
    if (error instanceof CheckTooLargeError) return refused(`could not be checked: ${error.message}`)
    // Values that are not JSON, endless nesting, keys that are not well-formed text.
    return refused(`expected plain JSON data (${messageOf(error)})`)
  }
  return { ok: false, problems: explainSchemaErrors(errors, ready, value) }
}

/** Collects every error, unless that is too much work. */
function allErrors(run: (stopAtFirst: boolean) => OutputUnit[] | undefined): OutputUnit[] | undefined {
  try {
    return run(false)
  } catch (error) {
    if (error instanceof CheckTooLargeError) return undefined
    throw error
  }
}

function refused(message: string): Validation<never> {
  return { ok: false, problems: [{ path: [], message }] }
}

function draftOf(schema: JsonSchema): SchemaDraft {
  const named = String(schema['$schema'] ?? '')
  if (named.includes('draft-07') || named.includes('draft-06')) return '7'
  if (named.includes('draft-04')) return '4'
  return named.includes('2019-09') ? '2019-09' : '2020-12'
}
