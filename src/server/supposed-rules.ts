import { compilePolicy } from '../authority/policy.js'
import { type RuleSource, ruleSources } from '../authority/rule.js'
import type { SupposedRules } from '../loop/session-authority.js'
import { isRecord, type JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { listOf, text } from './route.js'

const source = text({ enum: [...ruleSources] })

/** Rules with which a client wants a call to be evaluated. */
export const supposedRules: JsonSchema = objectSchema({
  'add?': listOf(
    objectSchema({
      rule: text({ minLength: 1, maxLength: 1_000, description: 'As a policy writes it: `bash(npm *)`.' }),
      action: text({ enum: ['allow', 'ask', 'deny'] }),
      'source?': source,
    }),
  ),
  'remove?': listOf(objectSchema({ rule: text(), source })),
})

/** Parses these rules. Throws `PolicyError` for a rule that cannot be used. */
export function readSupposedRules(value: unknown): SupposedRules | undefined {
  if (!isRecord(value)) return undefined
  return {
    add: recordsIn(value['add']).flatMap(({ rule, action, source: given }) => {
      const list = action === 'allow' || action === 'ask' ? action : 'deny'
      return compilePolicy({ [list]: [String(rule)] }, { source: sourceOf(given) }).rules
    }),
    remove: recordsIn(value['remove']).map(({ rule, source: given }) => ({
      text: String(rule),
      source: sourceOf(given),
    })),
  }
}

function sourceOf(given: unknown): RuleSource {
  return ruleSources.find((one) => one === given) ?? 'session'
}

function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}
