import { describe, expect, it } from 'vitest'
import {
  type ApprovalFacts,
  approvalKey,
  createGrant,
  createModeBooks,
  createRuleBook,
  decide,
  defaultRules,
  expandCall,
  formatProjectRules,
  judge,
  modes,
  type Rule,
  RuleError,
  runWatchdog,
  sessionTools,
  strictest,
  suggestRule,
  type Watchdog,
} from '../../../src/authority/index.js'
import { bash, scope, write } from './p0.js'

const facts: ApprovalFacts = {
  tool: 'bash',
  args: { command: 'git push origin a' },
  cwd: '/abs/W',
  session: 's',
  agent: 'main',
}
const allowAll: Rule = { permission: '*', pattern: '*', action: 'allow', source: 'session' }

describe('approvals, watchdog, subagents', () => {
  it.each<[string, Partial<ApprovalFacts>]>([
    ['other arguments', { args: { command: 'git push origin b' } }],
    ['another directory', { cwd: '/abs/W/sub' }],
    ['other variables', { env: { GIT_SSH_COMMAND: 'x' } }],
    ['another sandbox', { sandbox: 'off' }],
    ['another agent', { agent: 'child' }],
    ['another session', { session: 't' }],
    ['another tool', { tool: 'shell' }],
  ])('SEC-221, SEC-223 an approval is invalid with %s', async (_, changed) => {
    expect(await approvalKey({ ...facts, ...changed })).not.toBe(await approvalKey(facts))
    expect(await approvalKey({ ...facts })).toBe(await approvalKey(facts))
  })

  it('SEC-222 "always" for npm test is shown, and covers nothing more', () => {
    const book = createRuleBook({ scope, rules: defaultRules })
    const expanded = expandCall(bash('npm test'), scope)
    const suggestion = suggestRule(expanded, judge(expanded, book), book)
    expect(suggestion).toMatchObject({ text: ['bash(npm test)'] })
    const after = createRuleBook({
      scope,
      rules: [...defaultRules, ...('rules' in suggestion ? suggestion.rules : [])],
    })
    expect(judge(bash('npm test'), after).verdict.action).toBe('allow')
    for (const text of [
      'npm test; x',
      'npm test -- --reporter=./evil.js',
      'npm test > x',
      'X=1 npm test',
      'npm tests',
    ]) {
      expect(judge(bash(text), after).verdict.action).toBe('ask')
    }
  })

  it.each([
    'node x.js',
    'bash -c "ls"',
    'npx x',
    'env ls',
    'sudo ls',
    'xargs ls',
    'npm exec x',
    'ls $X',
    'python3 -c 1',
  ])('SEC-222 is not offered for %s', (text) => {
    const book = createRuleBook({ scope, rules: defaultRules })
    const expanded = expandCall(bash(text), scope)
    expect(suggestRule(expanded, judge(expanded, book), book)).toHaveProperty('refused')
  })

  it.each(['a)\nallow bash\n#', 'a)\r\nallow bash\n#', 'a\u2028allow bash', 'a\x85b', 'a\x1b[1A\x1b[2Kb'])(
    'SEC-222 is not offered for a path that would write its own rules: %j',
    (path) => {
      const book = createRuleBook({ scope, rules: defaultRules })
      const expanded = expandCall(write(path), scope)
      expect(suggestRule(expanded, judge(expanded, book), book)).toHaveProperty('refused')
      const rule: Rule = { permission: 'write', pattern: path, action: 'allow', source: 'project' }
      expect(() => formatProjectRules([rule])).toThrow(RuleError)
    },
  )

  it('a tool with the name of a trusted one gets no trust for what it touches', () => {
    for (const tool of sessionTools) {
      const authority = createModeBooks({ scope, rules: defaultRules }, undefined)
      const plan = createModeBooks({ scope, rules: defaultRules }, modes.plan)
      const call = { tool, subjects: [{ shell: { text: 'rm -f x' } }] }
      expect(decide(call, authority).verdict.action).toBe('ask')
      expect(decide(call, { book: plan.book, limits: plan.limit ? [plan.limit] : [] }).verdict.action).toBe(
        'deny',
      )
      expect(decide({ tool, subjects: [] }, authority).verdict.action).toBe('allow')
    }
  })

  it('SEC-229 a watchdog cannot allow what the grant or the rules deny, and its failure denies', async () => {
    const permissive: Watchdog = () => ({ action: 'allow' })
    const grant = createGrant({ scope, manifest: { fs: { read: ['**'] } } })
    const expanded = expandCall(write('a'), scope)
    const { verdict } = decide(expanded, { book: createRuleBook({ scope, rules: [allowAll] }), grant })
    const said = await runWatchdog(permissive, { tool: 'write', args: {}, expanded })
    expect(strictest(verdict, said)).toMatchObject({
      action: 'deny',
      reason: expect.stringContaining('outside the grant'),
    })
    const broken: Watchdog = () => Promise.reject(new Error('x'))
    expect((await runWatchdog(broken, { tool: 'write', args: {}, expanded })).action).toBe('deny')
  })

  it('SEC-231 a child has at most what its parent has, and so has its child', () => {
    const parentGrant = createGrant({ scope, manifest: { fs: { read: ['**'] } } })
    const childGrant = createGrant({
      scope,
      manifest: { fs: { read: ['**'], write: ['**'] } },
      parent: parentGrant,
    })
    const deny: Rule = { permission: 'read', pattern: 'secret/**', action: 'deny', source: 'session' }
    const parent = { book: createRuleBook({ scope, rules: [deny] }), grant: parentGrant }
    const child = { book: createRuleBook({ scope, rules: [allowAll] }), grant: childGrant, parent }
    const grandchild = {
      book: createRuleBook({ scope, rules: [allowAll] }),
      grant: createGrant({ scope, manifest: { fs: { read: ['/**'], write: ['/**'] } }, parent: childGrant }),
      parent: child,
    }
    for (const authority of [child, grandchild]) {
      expect(decide(write('a'), authority).verdict.action).toBe('deny')
      expect(
        decide({ tool: 'read', subjects: [{ fs: 'read', path: 'secret/x' }] }, authority).verdict.action,
      ).toBe('deny')
      expect(decide({ tool: 'read', subjects: [{ fs: 'read', path: 'a' }] }, authority).verdict.action).toBe(
        'allow',
      )
    }
  })

  it('SEC-231 a child has nothing that its parent is denied for lack of a rule', () => {
    const parent = {
      book: createRuleBook({
        scope,
        rules: [{ permission: 'read', pattern: '*', action: 'allow', source: 'session' }],
        defaultDecision: 'deny',
      }),
    }
    for (const above of [parent, () => parent]) {
      const child = { book: createRuleBook({ scope, rules: [allowAll] }), parent: above }
      expect(decide(write('a'), child).verdict.action).toBe('deny')
      expect(decide(bash('ls'), child).verdict.action).toBe('deny')
      expect(decide({ tool: 'read', subjects: [{ fs: 'read', path: 'a' }] }, child).verdict.action).toBe(
        'allow',
      )
    }
  })

  it('SEC-232 a read-only child cannot start one that writes', () => {
    const readOnly = createGrant({ scope, manifest: { fs: { read: ['**'] } } })
    const writer = createGrant({
      scope,
      manifest: { fs: { read: ['**'], write: ['**'] }, shell: [{ cmd: '*' }] },
      parent: readOnly,
    })
    const authority = { book: createRuleBook({ scope, rules: [allowAll] }), grant: writer }
    expect(decide(write('a'), authority).verdict.action).toBe('deny')
    expect(decide(bash('echo x > a'), authority).verdict.action).toBe('deny')
  })
})
