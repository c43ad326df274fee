// Tools, queries and vectors that look like real ones and are the same in every run.
import { createJsonTool } from 'capstan/tool'
import { z } from 'zod'

/** @typedef {import('capstan/tool').EmbeddingModel} EmbeddingModel */

const systems = words(
  'billing calendar catalog chat crm deploy files forum inventory ledger mail metrics payroll wiki',
)
const verbs = words(
  'archive assign cancel compare count create delete export find list merge move rename send update',
)
const things = words(
  'account alert backup branch budget campaign channel contact contract customer device document event folder invoice ' +
    'label meeting message order page payment project receipt refund report schedule shipment task team ticket',
)
const details = words(
  'active billable confirmed daily dated encrypted external failed internal late local monthly new open overdue pending ' +
    'private public recent recurring remote shared signed urgent verified weekly',
)

/**
 * What a tool needs, by its number: a name, a description, and its schema in both forms, created at each call.
 * @param {number} number
 */
export function toolParts(number) {
  const random = randomFrom(number + 1)
  const pick = (/** @type {readonly string[]} */ list) => list[Math.floor(random() * list.length)] ?? ''
  const system = pick(systems)
  const verb = pick(verbs)
  const thing = pick(things)
  const about = `Which ${pick(details)} ${thing} of ${system} to ${verb}.`
  const note = `A ${pick(details)} note for the ${pick(things)}, if there is one.`
  return {
    name: `${system}_${verb}_${thing}_${number}`,
    description: `${verb} the ${pick(details)} ${thing} in ${system}, with its ${pick(details)} ${pick(things)} and ${pick(things)}.`,
    parameters: () => ({
      type: 'object',
      properties: {
        [`${thing}_id`]: { type: 'string', minLength: 1, description: about },
        limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many at most.' },
        mode: { enum: ['fast', 'careful', 'dry_run'] },
        labels: { type: 'array', items: { type: 'string' } },
        note: { type: 'string', description: note },
      },
      required: [`${thing}_id`, 'limit'],
      additionalProperties: false,
    }),
    input: () =>
      z.strictObject({
        [`${thing}_id`]: z.string().min(1).describe(about),
        limit: z.number().int().min(1).max(100).describe('How many at most.'),
        mode: z.enum(['fast', 'careful', 'dry_run']).optional(),
        labels: z.array(z.string()).optional(),
        note: z.string().describe(note).optional(),
      }),
  }
}

/** @param {number} count */
export function makeTools(count) {
  return Array.from({ length: count }, (_, number) => {
    const { name, description, parameters } = toolParts(number)
    return createJsonTool({ name, description, parameters: parameters(), execute: () => 'done' })
  })
}

/** @param {number} count */
export function makeQueries(count) {
  return Array.from({ length: count }, (_, number) => {
    const random = randomFrom(1_000_000 + number)
    const pick = (/** @type {readonly string[]} */ list) => list[Math.floor(random() * list.length)] ?? ''
    return `${pick(verbs)} a ${pick(details)} ${pick(things)} in ${pick(systems)}`
  })
}

/**
 * A model that gives each text a vector drawn from the text itself, and remembers it: from the second time on it costs
 * nothing.
 * @param {number} dimensions
 * @returns {EmbeddingModel}
 */
export function syntheticModel(dimensions) {
  /** @type {Map<string, number[]>} */
  const known = new Map()
  const vectorOf = (/** @type {string} */ text) => {
    let vector = known.get(text)
    if (vector === undefined) {
      const random = randomFrom(hash(text))
      vector = []
      for (let i = 0; i < dimensions; i++) vector.push(random() * 2 - 1)
      known.set(text, vector)
    }
    return vector
  }
  return {
    embedTexts: async (texts) => texts.map((document) => ({ document, vector: vectorOf(document) })),
  }
}

/** Numbers from 0 up to 1 that the seed decides (mulberry32). @param {number} seed */
export function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** @param {string} text */
function hash(text) {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}

/** @param {string} text */
function words(text) {
  return text.split(' ')
}
