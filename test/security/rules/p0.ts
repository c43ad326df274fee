import {
  type Action,
  type Call,
  compilePolicy,
  createRuleBook,
  defaultRules,
  judge,
  type PermissionPolicy,
  type Rule,
  type RuleBook,
  type Scope,
} from '../../../src/authority/index.js'

/** The workspace and policy that the cases of the catalogue assume. */
export const scope: Scope = {
  variables: { workspace: ['/abs/W'], scratch: ['/tmp/scratch'] },
  home: '/home/u',
}

export const p0: PermissionPolicy = {
  allow: [
    'read(*)',
    'grep(*)',
    'glob(*)',
    'bash(git log*)',
    'bash(git diff*)',
    'bash(ls*)',
    'bash(cat*)',
    'bash(echo*)',
    'bash(npm run build*)',
  ],
  deny: ['write(**/.env*)', 'bash(rm -rf*)', 'read(**/.ssh/**)'],
}

/** What a policy, with the built-in rules, makes of a call; `ask` is never allowed without a person. */
export function decision(
  call: Call,
  policy: PermissionPolicy = p0,
  { rules = [], scope: place = scope }: { rules?: readonly Rule[]; scope?: Scope } = {},
): Action {
  return judge(call, bookOf(policy, rules, place)).verdict.action
}

/** The rule book of a session with this policy. */
export function bookOf(
  policy: PermissionPolicy,
  rules: readonly Rule[] = [],
  place: Scope = scope,
): RuleBook {
  const compiled = compilePolicy(policy)
  return createRuleBook({
    scope: place,
    rules: [...defaultRules, ...compiled.rules, ...rules],
    defaultDecision: compiled.defaultDecision,
  })
}

export const bash = (text: string): Call => ({ tool: 'bash', subjects: [{ shell: { text } }] })
export const read = (path: string, tool = 'read'): Call => ({ tool, subjects: [{ fs: 'read', path }] })
export const write = (path: string, tool = 'write'): Call => ({ tool, subjects: [{ fs: 'write', path }] })
