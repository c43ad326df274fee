import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema'
import { assertJsonSchema, assertReferences, recursiveBranches } from './assert-json-schema.js'
import { messageOf } from './errors.js'
import { isFrozenCopy } from './frozen-copy.js'
import type { JsonSchema } from './json.js'
import { explainSchemaErrors, type ReadySchema } from './json-schema-problems.js'
import { copyJson } from './json-text.js'
import type { Validation } from './validation.js'

/** A JSON Schema made ready for checking values. */
type CompiledSchema = {
  check(input: unknown): Validation<unknown>
}

const compiled = new WeakMap<JsonSchema, CompiledSchema>()

/** How many branches may be tried where every level of a value tries all of them again. */
const mostBranches = 50_000
/** Above this many values only the first problems are collected: a million fields must not buy a million errors. */
const smallValue = 5000

/**
 * Compiles a JSON Schema (draft 2020-12, 2019-09, 07 or 04 by its `$schema`), once for each schema that cannot change. Throws
 * `TypeError` when it is not a schema.
 */
export function compileJsonSchema(schema: JsonSchema): CompiledSchema {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const ready = makeReady(schema)
  const branches = recursiveBranches(ready.schema, ready.lookup)
  const maxLevels = branches > 1 ? Math.floor(Math.log(mostBranches) / Math.log(branches)) : undefined
  const made: CompiledSchema = { check: (input) => check(ready, maxLevels, input) }
  // A schema that may still change is compiled anew: what is checked must be what is published.
  if (isFrozenCopy(schema)) compiled.set(schema, made)
  return made
}

function makeReady(schema: JsonSchema): ReadySchema {
  assertJsonSchema(schema)
  // The validator annotates the schema it works on, and ours may be frozen or shared.
  const own = structuredClone(schema) as Schema
  let lookup: ReadySchema['lookup']
  try {
    lookup = dereference(own)
  } catch (cause) {
    throw new TypeError(`Not a JSON Schema: ${messageOf(cause)}`, { cause })
  }
  assertReferences(own, lookup)
  return { schema: own, lookup, draft: draftOf(schema) }
}

function check(ready: ReadySchema, maxLevels: number | undefined, input: unknown): Validation<unknown> {
  let value: unknown
  let errors: OutputUnit[]
  try {
    // A copy: what is checked must not change under the one who approves or runs it.
    const copied = copyJson(input)
    value = copied.value
    if (maxLevels !== undefined && levelsOf(value, maxLevels) > maxLevels) {
      return refused(
        `at most ${maxLevels} levels can be checked against this schema, which repeats its own alternatives`,
      )
    }
    const first = validate(value, ready.schema, ready.draft, ready.lookup, true)
    if (first.valid) return { ok: true, value }
    const small = copied.values <= smallValue
    errors = small ? validate(value, ready.schema, ready.draft, ready.lookup, false).errors : first.errors
  } catch (error) {
    // Values that JSON cannot hold, nesting without end, keys that are not well-formed text.
    return refused(`expected plain JSON data (${messageOf(error)})`)
  }
  return { ok: false, problems: explainSchemaErrors(errors, ready, value) }
}

/** How deep a value goes, up to just past a limit. A list that is an object's member belongs to its level. */
function levelsOf(value: unknown, limit: number, isMember = false): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) && isMember ? 0 : 1
  let deepest = 0
  for (const member of Object.values(value)) {
    if (own + deepest > limit) break
    deepest = Math.max(deepest, levelsOf(member, limit - own, !Array.isArray(value)))
  }
  return own + deepest
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
