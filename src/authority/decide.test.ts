import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Call } from './call.js'
import { type Authority, decide } from './decide.js'
import { createGrant } from './grant.js'
import { judge } from './judge.js'
import type { Rule } from './rule.js'
import { createRuleBook } from './rule-book.js'
import { type Action, actions, strictness } from './verdict.js'

const scope = { variables: { workspace: ['/w'], scratch: ['/tmp/s'] }, home: '/home/u' }
const rule = (permission: string, pattern: string, action: Action, over: Partial<Rule> = {}): Rule => ({
  permission,
  pattern,
  action,
  source: 'session',
  ...over,
})
const book = (...rules: Rule[]) => createRuleBook({ scope, rules })
const bash = (text: string): Call => ({ tool: 'bash', subjects: [{ shell: { text } }] })

describe('decide', () => {
  it('allows nothing that the grant denies, whatever the rules say', () => {
    const grant = createGrant({ scope, manifest: { fs: { read: ['**'] } } })
    const authority: Authority = { book: book(rule('*', '*', 'allow')), grant }
    expect(decide({ tool: 'read', subjects: [{ fs: 'read', path: 'a' }] }, authority).verdict.action).toBe(
      'allow',
    )
    const { verdict, refusal } = decide(
      { tool: 'read', subjects: [{ fs: 'read', path: '/etc/passwd' }] },
      authority,
    )
    expect(verdict).toEqual({ action: 'deny', reason: refusal?.message })
  })

  it('inherits the denies of every ancestor, and nothing else of their rules', () => {
    const grandparent: Authority = {
      book: book(rule('bash', 'rm *', 'deny'), rule('bash', 'rm safe', 'allow')),
    }
    const parent: Authority = { book: book(rule('bash', 'npm *', 'ask')), parent: grandparent }
    const child: Authority = { book: book(rule('bash', '*', 'allow')), parent }
    expect(decide(bash('rm x'), child).verdict).toMatchObject({
      action: 'deny',
      reason: expect.stringContaining('which applies to subagents too'),
    })
    expect(decide(bash('npm test'), child).verdict.action).toBe('allow')
    expect(decide(bash('ls'), child).verdict.action).toBe('allow')
    // An ancestor that asks does not restrict the child.
    expect(decide(bash('rm safe'), child).verdict.action).toBe('allow')
  })

  it('denies a child what its parent denies for lack of a rule (SEC-231)', () => {
    const strict = createRuleBook({ scope, rules: [rule('bash', 'ls', 'allow')], defaultDecision: 'deny' })
    const child: Authority = {
      book: book(rule('*', '*', 'allow')),
      parent: { book: book(), parent: { book: strict } },
    }
    expect(decide(bash('ls'), child).verdict.action).toBe('allow')
    expect(decide(bash('rm x'), child).verdict).toMatchObject({
      action: 'deny',
      reason: expect.stringContaining('which applies to subagents too'),
    })
    const careful = createRuleBook({ scope, rules: [rule('*', '*', 'allow')], doubts: 'deny' })
    expect(decide(bash('ls $X'), { book: strict, parent: { book: careful } }).verdict.action).toBe('deny')
  })

  it('calls a parent that is a function at each decision, so that later rules apply', () => {
    let parent: Authority = { book: book() }
    const child: Authority = { book: book(rule('*', '*', 'allow')), parent: () => parent }
    const grandchild: Authority = { book: book(rule('*', '*', 'allow')), parent: child }
    expect(decide(bash('ls'), grandchild).verdict.action).toBe('allow')
    parent = { book: book(rule('bash', 'ls', 'deny')) }
    expect(decide(bash('ls'), grandchild).verdict.action).toBe('deny')
    parent = { book: book(), limits: [createRuleBook({ scope, rules: [], defaultDecision: 'deny' })] }
    expect(decide(bash('ls'), grandchild).verdict.action).toBe('deny')
  })

  it('never allows what an ancestor denies, over random trees', () => {
    const rules = fc.array(
      fc.record({
        permission: fc.constantFrom('bash', 'read', 'fs.read', 'fs.write', '*'),
        pattern: fc.constantFrom('*', 'git *', 'git push', 'src/**', '**/.env*'),
        action: fc.constantFrom(...actions),
        source: fc.constantFrom('manifest' as const, 'project' as const, 'session' as const),
      }),
      { maxLength: 4 },
    )
    const generation = fc.record({
      own: rules,
      limit: fc.option(rules, { nil: undefined }),
      defaultDecision: fc.constantFrom(...actions),
      doubts: fc.constantFrom(...actions),
      late: fc.boolean(),
    })
    const calls: fc.Arbitrary<Call> = fc.oneof(
      fc.constantFrom('git push', 'git log', 'cat .env', 'ls > src/x').map(bash),
      fc
        .record({
          tool: fc.constantFrom('read', 'write', 'peek'),
          path: fc.constantFrom('.env', 'src/a', '/etc/x'),
          fs: fc.constantFrom('read' as const, 'write' as const),
        })
        .map(({ tool, path, fs }) => ({ tool, subjects: [{ fs, path }] })),
    )
    fc.assert(
      fc.property(fc.array(generation, { minLength: 1, maxLength: 5 }), calls, (generations, call) => {
        const ancestors: Authority[] = []
        for (const { own, limit, defaultDecision, doubts, late } of generations) {
          const known = ancestors.at(-1)
          const authority: Authority = {
            book: createRuleBook({ scope, rules: own, defaultDecision, doubts }),
            ...(limit && { limits: [createRuleBook({ scope, rules: limit, defaultDecision: 'deny' })] }),
            ...(known && { parent: late ? () => known : known }),
          }
          const { verdict } = decide(call, authority)
          expect(strictness(verdict.action)).toBeGreaterThanOrEqual(
            strictness(judge(call, authority.book).verdict.action),
          )
          for (const above of ancestors) {
            if (decide(call, above).verdict.action === 'deny') expect(verdict.action).toBe('deny')
          }
          ancestors.push(authority)
        }
      }),
    )
  })
})
