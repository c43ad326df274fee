import type { Manifest } from '../../../authority/manifest.js'
import type { PermissionPolicy } from '../../../authority/policy.js'
import { actions } from '../../../authority/verdict.js'
import { messageOf } from '../../../tool/errors.js'
import type { RequirementSet } from '../../../tool/requirement.js'
import { assertRequirements } from '../../../tool/requirement-check.js'
import type { Value } from '../acl/ast.js'
import { field, type Kind, type Shape } from '../field.js'
import { flag, group, oneOrMore, refuse, text, word } from '../kinds.js'

const rules: Kind<readonly string[]> = oneOrMore(text)

const permissions: Shape<PermissionPolicy> = {
  deny: field(rules, 'calls that are denied; other rules cannot override it'),
  ask: field(rules, 'calls that the user is asked about'),
  allow: field(rules, 'calls that are allowed'),
  defaultDecision: field(word(actions), 'verdict for calls that no rule covers', 'default'),
  enabled: field(flag, 'false turns the permissions off'),
}

const requires: Kind<RequirementSet> = {
  expects: 'a block with `fs`, `net`, `shell` and `capabilities`',
  read(value, spot, reading) {
    if (value.type !== 'object') return refuse(this.expects, value, spot, reading)
    const found = plainOf(value)
    try {
      assertRequirements(found, 'the manifest')
      return found
    } catch (error) {
      reading.fail(spot, `${spot.path}: ${messageOf(error)}`)
      return undefined
    }
  },
}

const shape: Shape<Manifest> = {
  requires: field(requires, 'requirements of the agent in addition to those of its tools'),
  permissions: field(group(permissions), 'rules that come with the agent'),
}

/** Rules are not checked here but by the agent, which loads the rule engine. */
export const manifest: Kind<Manifest> = group(shape)

function plainOf(value: Value): unknown {
  switch (value.type) {
    case 'text':
    case 'number':
    case 'boolean':
      return value.value
    case 'list':
      return value.items.map(plainOf)
    case 'object':
      return Object.fromEntries(
        value.items.map((item) => [item.name, plainOf(item.type === 'block' ? item.body : item.value)]),
      )
    default:
      return null
  }
}
