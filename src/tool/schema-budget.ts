import { isRecord } from './json.js'
import { CheckTooLargeError } from './linear-pattern.js'

/**
 * Counts the work of checking one value, so that no schema can make a check endless: nested alternatives, recursive
 * references, long lists of allowed values. The validator reads one field of each schema that it applies; a getter on
 * that field counts.
 */
export function metered(nodes: readonly Record<string, unknown>[]): void {
  // A schema that uses one object in two places has it twice in the list. Its getter must not call itself.
  for (const node of new Set(nodes)) {
    const own = node[meter]
    const weight = weightOf(node)
    const comparesItems = node['uniqueItems'] === true
    const triesNames = isRecord(node['patternProperties']) ? Object.keys(node['patternProperties']).length : 0
    Object.defineProperty(node, meter, {
      get: () => {
        spend(weight)
        if (comparesItems) spend((facts.members * facts.members) / 8)
        if (triesNames > 0) spend(triesNames * facts.members)
        return own
      },
      configurable: true,
    })
  }
}

/** The validator reads this field whenever it applies a schema. */
const meter = '$recursiveAnchor'

/**
 * Runs one check within its budget. Throws {@link CheckTooLargeError} beyond it. Checks are synchronous, so one runs
 * at a time.
 */
export function withinBudget<Result>(value: unknown, values: number, check: () => Result): Result {
  facts = { members: maxMembers(value) }
  left = baseSteps + stepsPerValue * values
  return check()
}

const baseSteps = 30_000
const stepsPerValue = 16
let left = 0
let facts: { readonly members: number } = { members: 0 }

function spend(steps: number): void {
  left -= steps
  if (left < 0)
    throw new CheckTooLargeError(
      'checking it against the schema takes too long: use a simpler schema or a smaller value',
    )
}

function weightOf(node: Record<string, unknown>): number {
  let weight = 1
  for (const member of Object.values(node))
    if (Array.isArray(member)) weight += member.length / 4 + sizeOf(member) / 200
  return weight
}

/** Estimates the length of a list as JSON. */
function sizeOf(list: readonly unknown[]): number {
  return JSON.stringify(list).length
}

function maxMembers(value: unknown): number {
  let most = 0
  const open: unknown[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue
    const members = Object.values(one)
    most = Math.max(most, members.length)
    for (const member of members) if (typeof member === 'object' && member !== null) open.push(member)
  }
  return most
}
