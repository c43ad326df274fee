import { describe, expect, it } from 'vitest'
import { compileRule } from './compiled-rule.js'
import { formatRule, isPinned, parseRule, type Rule, RuleError } from './rule.js'

const scope = { variables: { workspace: ['/w'] }, home: '/home/u' }
const valid = { permission: 'bash', pattern: 'git push*', action: 'ask', source: 'project' }

describe('parseRule', () => {
  it('parses a rule as sessions store it', () => {
    const stored = {
      ...valid,
      added_at: 5,
      pinned: true,
      match: ['git push'],
      not_match: ['git log'],
      reason: 'why',
      callOnly: true,
    }
    expect(parseRule(stored)).toEqual(stored)
    expect(parseRule(JSON.parse(JSON.stringify(stored)))).toEqual(stored)
  })

  it('uses the source session for a rule without one', () => {
    expect(parseRule({ permission: '*', pattern: '*', action: 'allow' }).source).toBe('session')
  })

  it.each<[string, unknown, string]>([
    ['not an object', 'bash', 'must be an object'],
    ['no permission', { ...valid, permission: undefined }, 'needs a `permission`'],
    ['no pattern', { ...valid, pattern: 1 }, 'needs a `pattern`'],
    ['an empty pattern', { ...valid, pattern: '' }, '"*" matches everything'],
    ['another action', { ...valid, action: 'permit' }, 'must be allow, deny or ask, not "permit"'],
    ['another source', { ...valid, source: 'user' }, 'must be manifest, project or session'],
    ['a date as text', { ...valid, added_at: 'today' }, 'must be a number'],
    ['a pin that is not true or false', { ...valid, pinned: 'yes' }, '`pinned` of bash(git push*)'],
    ['a narrowing that is not true or false', { ...valid, callOnly: 1 }, '`callOnly` of bash(git push*)'],
    ['examples that are not list', { ...valid, match: 'git push' }, 'must be a list'],
    ['a field that does not exist', { ...valid, patern: 'x' }, 'did you mean "pattern"?'],
    ['a tool id with a blank', { ...valid, permission: 'bash ' }, 'spaces around it'],
    ['a look-alike', { ...valid, permission: 'Вash' }, 'only look like letters'],
    ['a half MCP name', { ...valid, permission: 'mcp:' }, 'mcp:<server>:<tool>'],
    ['a glob for a tool', { ...valid, permission: 'web_*' }, 'neither a tool id'],
  ])('refuses %s', (_, value, message) => {
    expect(() => parseRule(value)).toThrow(RuleError)
    expect(() => parseRule(value)).toThrow(message)
  })

  it.each(['bash', 'fs.write', 'secrets.has', 'mcp:github:*', 'mcp:*:read_*', 'mcp:a', '*', 'Skill'])(
    'accepts the permission %s',
    (permission) => {
      expect(parseRule({ ...valid, permission, pattern: '*' }).permission).toBe(permission)
    },
  )
})

describe('examples', () => {
  const withExamples = (rule: Partial<Rule>): (() => unknown) => {
    return () =>
      compileRule(
        { permission: 'bash', pattern: 'git log *', action: 'allow', source: 'project', ...rule },
        0,
        scope,
      )
  }
  it.each<[Partial<Rule>]>([
    [{ match: ['git log -5', 'git log'], not_match: ['git push', 'git log; rm x', 'git log > f | x'] }],
    [{ pattern: 'rm -rf*', action: 'deny', match: ['rm -fr a', 'ls && rm -r -f b'], not_match: ['rm a'] }],
    [
      {
        permission: 'write',
        pattern: '**/.env*',
        action: 'deny',
        match: ['.env', 'a/.env.local/x', '/etc/.env'],
        not_match: ['env.ts'],
      },
    ],
    [{ permission: 'read', pattern: 'src/*', match: ['src/a.ts'], not_match: ['src/../a', '/etc/x'] }],
    [
      {
        permission: 'web_fetch',
        pattern: '*.a.com',
        match: ['https://x.a.com/y'],
        not_match: ['a.com', 'a.com.evil.org'],
      },
    ],
    [
      {
        permission: '*',
        pattern: '**/.ssh/**',
        action: 'deny',
        match: ['~/.ssh/id_rsa'],
        not_match: ['ls -la'],
      },
    ],
  ])('are checked when the rule is loaded: %j', (rule) => {
    expect(withExamples(rule)).not.toThrow()
  })

  it.each<[Partial<Rule>, string]>([
    [{ match: ['git push'] }, 'does not match its example "git push"'],
    [{ not_match: ['git log -5'] }, 'matches "git log -5", which it should not'],
    [{ permission: 'write', pattern: '*.env', action: 'deny', match: ['a/b.env'] }, 'a/b.env'],
    [{ permission: 'web_fetch', pattern: 'a.com', match: ['b.a.com'] }, 'b.a.com'],
  ])('reject the rule when they fail: %j', (rule, message) => {
    expect(withExamples(rule)).toThrow(RuleError)
    expect(withExamples(rule)).toThrow(message)
  })
})

describe('formatting a rule', () => {
  it('is written as a policy string', () => {
    expect(formatRule({ permission: 'bash', pattern: 'git push*' })).toBe('bash(git push*)')
    expect(formatRule({ permission: 'bash', pattern: '*' })).toBe('bash')
  })

  it('is pinned when it is a manifest deny, when it says so, and when it is unconfirmed', () => {
    const rule = (over: Partial<Rule>): Rule => ({
      permission: '*',
      pattern: '*',
      action: 'deny',
      source: 'session',
      ...over,
    })
    expect(isPinned(rule({}))).toBe(false)
    expect(isPinned(rule({ source: 'manifest' }))).toBe(true)
    expect(isPinned(rule({ source: 'manifest', action: 'ask' }))).toBe(false)
    expect(isPinned(rule({ pinned: true, action: 'ask' }))).toBe(true)
    expect(isPinned(rule({ untrusted: true }))).toBe(true)
    expect(isPinned(rule({ pinned: true, action: 'allow' }))).toBe(false)
  })
})
