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
  it('lets no rule permit what the grant refuses', () => {
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
      reason: expect.stringContaining('which holds for subagents too'),
    })
    expect(decide(bash('npm test'), child).verdict.action).toBe('allow')
    expect(decide(bash('ls'), child).verdict.action).toBe('allow')
    // What an ancestor would allow itself is not held against the child.
    expect(decide(bash('rm safe'), child).verdict.action).toBe('allow')
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
      fc.property(fc.array(rules, { minLength: 1, maxLength: 5 }), calls, (generations, call) => {
        let parent: Authority | undefined
        for (const own of generations) {
          const authority: Authority = { book: book(...own), ...(parent && { parent }) }
          const { verdict } = decide(call, authority)
          expect(strictness(verdict.action)).toBeGreaterThanOrEqual(
            strictness(judge(call, authority.book).verdict.action),
          )
          for (let above = parent; above !== undefined; above = above.parent) {
            if (judge(call, above.book).verdict.action === 'deny') expect(verdict.action).toBe('deny')
          }
          parent = authority
        }
      }),
    )
  })
})
