import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { propertyRuns } from '../../test/support/property-runs.js'
import { parsePolicyString } from './policy.js'
import {
  formatProjectRules,
  loadProjectRules,
  ProjectRulesError,
  parseProjectRules,
  projectConfirmation,
} from './project-rules.js'
import { formatRule, type Rule, RuleError } from './rule.js'
import { actions } from './verdict.js'

const scope = { variables: { workspace: ['/w'] }, home: '/home/u' }
const text = `# Rules of this project

deny read(**/.env*)
  match .env.local
  not_match src/env.ts
  reason secrets of the staging system
# Added by a person who answered "always".
allow bash(npm test)
  added 1767225600000
ask mcp__github
`

describe('parseProjectRules', () => {
  it('parses one rule per line, with its details below', () => {
    expect(parseProjectRules(text, scope)).toEqual([
      {
        permission: 'read',
        pattern: '**/.env*',
        action: 'deny',
        source: 'project',
        match: ['.env.local'],
        not_match: ['src/env.ts'],
        reason: 'secrets of the staging system',
      },
      {
        permission: 'bash',
        pattern: 'npm test',
        action: 'allow',
        source: 'project',
        added_at: 1767225600000,
      },
      { permission: 'mcp:github:*', pattern: '*', action: 'ask', source: 'project' },
    ])
    expect(parseProjectRules(`\ufeff${text.replaceAll('\n', '\r\n')}`, scope)).toHaveLength(3)
    expect(parseProjectRules('', scope)).toEqual([])
  })

  it.each<[string, number, string]>([
    ['# ok\npermit bash', 2, 'begins with "permit"'],
    ['allow', 1, 'nothing to allow'],
    ['allow bash(', 1, 'without its ")"'],
    ['allow bash()', 1, 'empty pattern'],
    ['deny read(a[)', 1, 'without its "]"'],
    ['  match x', 1, 'there is none above it'],
    ['allow bash\n  matches x', 2, '"matches" is not one of'],
    ['allow bash\n  match', 2, 'needs a value'],
    ['allow bash\n  added today', 2, '"added" is not one of'],
    ['allow bash(git log)\n  match git push', 1, 'does not match its example "git push"'],
    ['allow bash\n\ndeny bash', 3, 'is both allow (line 1) and deny'],
    ['defaultDecision allow', 1, 'nothing else can be set here'],
    ['enabled: false', 1, 'nothing else can be set here'],
    ['{"trusted": true}', 1, 'nothing else can be set here'],
    ['allow bash\n  pinned true', 2, '"pinned" is not one of'],
    ['allow bash\n  source manifest', 2, '"source" is not one of'],
  ])('rejects %j in line %i', (content, line, message) => {
    try {
      parseProjectRules(content, scope)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ProjectRulesError)
      expect(error).toMatchObject({ line, message: expect.stringContaining(message) })
    }
  })

  it('parses what it writes', () => {
    const rules: fc.Arbitrary<Rule> = fc.record(
      {
        permission: fc.constantFrom('bash', 'mcp:a:*', '*'),
        pattern: fc.stringMatching(/^[a-z][a-z *]{0,8}[a-z]$/),
        action: fc.constantFrom(...actions),
        source: fc.constant('project' as const),
        added_at: fc.nat(),
        reason: fc.stringMatching(/^[a-z][a-z ]{0,8}[a-z]$/),
      },
      { requiredKeys: ['permission', 'pattern', 'action', 'source'] },
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(rules, { selector: ({ permission, pattern }) => permission + pattern, maxLength: 5 }),
        (all) => {
          expect(parseProjectRules(formatProjectRules(all), scope)).toEqual(all)
        },
      ),
    )
    expect(formatProjectRules(parseProjectRules(text, scope))).toBe(
      `${text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .join('\n')
        .replace('mcp__github', 'mcp:github:*')}\n`,
    )
  })

  it.each<[string, Partial<Rule>]>([
    ...['\n', '\r', '\0', '\t', '\x1b', '\x7f', '\x85', '\u2028', '\u2029', '\ud800'].flatMap(
      (char): [string, Partial<Rule>][] => [
        ['a control character in the pattern', { pattern: `a${char}b` }],
        ['one in the permission', { permission: `bash${char}` }],
        ['one in the reason', { reason: `a${char}b` }],
        ['one in an example', { match: [`a${char}`] }],
        ['one in an example that must not match', { not_match: ['b', `a${char}b`] }],
      ],
    ),
    ['a rule that ends early', { pattern: 'a)\nallow bash\n#' }],
    ['a parenthesis that closes early', { pattern: 'a)b' }],
    ['one that never closes', { pattern: 'a(b' }],
    ['a quote that never closes', { pattern: "it's" }],
    ['a blank pattern', { pattern: '  ' }],
    ['a reason with blanks around it', { reason: ' a' }],
    ['an empty reason', { reason: '' }],
    ['a time that is none', { added_at: -1 }],
    ['the id of a tool that reads as a server', { permission: 'mcp__gh', pattern: '*' }],
    ['a rule for the call alone', { pattern: '*', callOnly: true }],
  ])('does not write %s: %j', (_, over) => {
    const rule: Rule = { permission: 'bash', pattern: 'a', action: 'allow', source: 'project', ...over }
    expect(() => formatProjectRules([rule])).toThrow(RuleError)
  })

  it('writes only what is parsed as the same rules, whatever they contain', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1 }),
      fc.stringMatching(/^[a()'"\\ \n#]{1,8}$/),
    )
    const rules: fc.Arbitrary<Rule> = fc.record(
      {
        permission: fc.constantFrom('bash', 'write', '*', 'mcp:a:b'),
        pattern: text,
        action: fc.constantFrom(...actions),
        source: fc.constant('project' as const),
        reason: text,
      },
      { requiredKeys: ['permission', 'pattern', 'action', 'source'] },
    )
    fc.assert(
      fc.property(rules, (rule) => {
        let written: string
        try {
          written = formatProjectRules([rule])
        } catch (error) {
          expect(error).toBeInstanceOf(RuleError)
          return
        }
        const lines = written.split('\n')
        expect(lines).toHaveLength(rule.reason === undefined ? 2 : 3)
        expect(lines[0]).toBe(`${rule.action} ${formatRule(rule)}`)
        expect(parsePolicyString(formatRule(rule))).toEqual({
          permission: rule.permission,
          pattern: rule.pattern,
        })
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })

  it('throws only ProjectRulesError', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.constantFrom('', 'allow ', 'deny read('),
        (content, start) => {
          try {
            parseProjectRules(start + content, scope)
          } catch (error) {
            expect(error).toBeInstanceOf(ProjectRulesError)
          }
        },
      ),
    )
  })
})

describe('loadProjectRules', () => {
  it('trusts a text only in the directory and the form that was confirmed', async () => {
    const unconfirmed = await loadProjectRules(text, { root: '/w', scope, confirmations: new Set() })
    expect(unconfirmed.confirmed).toBe(false)
    expect(unconfirmed.rules.every((rule) => rule.untrusted)).toBe(true)
    const confirmations = new Set([unconfirmed.confirmation])
    const confirmed = await loadProjectRules(text, { root: '/w', scope, confirmations })
    expect(confirmed.confirmed).toBe(true)
    expect(confirmed.rules.some((rule) => rule.untrusted)).toBe(false)
    for (const [root, content] of [
      ['/w/nested', text],
      ['/w', `${text}allow bash\n`],
    ] as const) {
      expect((await loadProjectRules(content, { root, scope, confirmations })).confirmed).toBe(false)
    }
    expect(await projectConfirmation('/a', 'b')).not.toBe(await projectConfirmation('/a\0b', ''))
  })
})
