import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { compilePolicy, lintRules, type PermissionPolicy, PolicyError, parsePolicyString } from './policy.js'
import { formatRule } from './rule.js'

describe('parsePolicyString', () => {
  it.each<[string, string, string]>([
    ['write(**/.env*)', 'write', '**/.env*'],
    ['bash(git push*)', 'bash', 'git push*'],
    ['bash', 'bash', '*'],
    ['read(*)', 'read', '*'],
    ['fs.write(src/**)', 'fs.write', 'src/**'],
    ['mcp__github', 'mcp:github:*', '*'],
    ['mcp__github__create_issue', 'mcp:github:create_issue', '*'],
    ['mcp__github__*', 'mcp:github:*', '*'],
    ['mcp:github:read_*', 'mcp:github:read_*', '*'],
    ['*', '*', '*'],
    ['bash(echo "(")', 'bash', 'echo "("'],
    ['bash(echo \\))', 'bash', 'echo \\)'],
    ['bash(f (x))', 'bash', 'f (x)'],
  ])('%s', (text, permission, pattern) => {
    expect(parsePolicyString(text)).toEqual({ permission, pattern })
  })

  it.each<[string, number]>([
    ['', 0],
    ['(x)', 0],
    ['bash(rm', 4],
    ['bash)', 4],
    ['bash(a)b', 7],
    ['bash(a))', 7],
    ['bash()', 5],
    ['bash(  )', 5],
    ['bash (x)', 0],
    ['ba$h(x)', 0],
    ['Вash', 0],
  ])('refuses %j at %i', (text, position) => {
    try {
      parsePolicyString(text)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(PolicyError)
      expect(error).toMatchObject({ position, code: 'invalid_policy' })
    }
  })

  it.each([
    ['Bash(rm *)', 'bash'],
    ['READ', 'read'],
    ['Web_Fetch(example.com)', 'web_fetch'],
    ['Skill', 'Skill'],
    ['skill', 'skill'],
    ['myTool', 'myTool'],
  ])('reads %s as %s, because a rule that matches nothing protects nothing', (text, permission) => {
    expect(parsePolicyString(text).permission).toBe(permission)
  })

  it('parses what formatRule writes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('bash', 'read', 'fs.write', 'mcp:a:b', '*'),
        fc.stringMatching(/^[a-z*/. -]*[a-z*]$/),
        (permission, pattern) => {
          expect(parsePolicyString(formatRule({ permission, pattern }))).toEqual({ permission, pattern })
        },
      ),
    )
  })

  it('throws only PolicyError', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        try {
          compilePolicy({ allow: [text] })
        } catch (error) {
          expect(error).toBeInstanceOf(PolicyError)
        }
      }),
    )
  })
})

describe('compilePolicy', () => {
  it('creates rules of the manifest scope, with pinned denies', () => {
    expect(
      compilePolicy({ allow: ['read(*)'], ask: ['bash(git push*)'], deny: ['write(**/.env*)'] }),
    ).toEqual({
      rules: [
        { permission: 'write', pattern: '**/.env*', action: 'deny', source: 'manifest', pinned: true },
        { permission: 'bash', pattern: 'git push*', action: 'ask', source: 'manifest' },
        { permission: 'read', pattern: '*', action: 'allow', source: 'manifest' },
      ],
      defaultDecision: 'ask',
      explicitDefault: false,
      warnings: [],
    })
  })

  it('has no effect when it is not enabled', () => {
    expect(compilePolicy({ enabled: false, allow: ['*'], defaultDecision: 'allow' })).toEqual({
      rules: [],
      defaultDecision: 'ask',
      explicitDefault: false,
      warnings: [],
    })
  })

  it.each<[unknown, string]>([
    [{ denny: [] }, 'permissionPolicy has no option "denny"; did you mean "deny"?'],
    [{ default: 'ask' }, 'has no option "default"'],
    [{ deny: 'bash' }, 'permissionPolicy.deny must be a list'],
    [{ allow: [1] }, 'permissionPolicy.allow must be a list'],
    [{ defaultDecision: 'yes' }, 'must be "allow", "ask" or "deny"'],
    [{ enabled: 'no' }, 'must be true or false'],
    [null, 'must be an object'],
    [{ allow: ['bash'], deny: ['bash'] }, '"bash" is in both deny and allow'],
    [{ allow: ['read(a[)'] }, 'without its "]"'],
    [{ allow: ['bash(a; b)'] }, 'one simple command'],
    [{ deny: ['web_fetch(a*b.com)'] }, 'star'],
    [{ allow: ['read({worksapce}/**)'] }, 'did you mean "{workspace}"'],
  ])('refuses %j', (policy, message) => {
    expect(() => compilePolicy(policy as PermissionPolicy)).toThrow(PolicyError)
    expect(() => compilePolicy(policy as PermissionPolicy)).toThrow(message)
  })

  it('reports the position of an invalid pattern', () => {
    try {
      compilePolicy({ deny: ['write(src/[a)'] })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ position: 10 })
    }
  })

  it('checks against the known tools', () => {
    const knownTools = ['bash', 'read', 'web_fetch']
    expect(() => compilePolicy({ deny: ['bsh(rm *)'] }, { knownTools })).toThrow('did you mean "bash"?')
    expect(() => compilePolicy({ deny: ['Bash(rm *)'] }, { knownTools })).not.toThrow()
    expect(() =>
      compilePolicy({ deny: ['bash(rm *)', 'fs.write', 'mcp__x', '*'] }, { knownTools }),
    ).not.toThrow()
  })
})

describe('lintRules', () => {
  it.each<[string, boolean]>([
    ['bash(git*)', true],
    ['bash(npm run build*)', true],
    ['bash(git push:*)', true],
    ['shell.run(git*)', true],
    ['bash(npm run build *)', false],
    ['bash(git log)', false],
    ['bash', false],
    ['read(src*)', false],
  ])('%s warns: %s', (text, warns) => {
    expect(compilePolicy({ allow: [text] }).warnings.length > 0).toBe(warns)
  })

  it('suggests what to write instead, and ignores denies', () => {
    expect(compilePolicy({ allow: ['bash(git*)'] }).warnings[0]).toContain('"git *"')
    expect(lintRules(compilePolicy({ deny: ['bash(rm -rf*)'] }).rules)).toEqual([])
  })
})
