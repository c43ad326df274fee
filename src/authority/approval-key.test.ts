import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { propertyRuns } from '../../test/support/property-runs.js'
import { type ApprovalFacts, approvalKey, approvalText, suggestRule } from './approval-key.js'
import { type Call, expandCall } from './call.js'
import { canonicalJson } from './canonical-json.js'
import { defaultRules } from './default-rules.js'
import { judge } from './judge.js'
import { formatProjectRules, parseProjectRules } from './project-rules.js'
import { createRuleBook } from './rule-book.js'

const scope = { variables: { workspace: ['/w'] }, home: '/home/u' }
const facts: ApprovalFacts = {
  tool: 'bash',
  args: { command: 'git push origin a' },
  cwd: '/w',
  session: 's1',
  agent: 'main',
}

describe('approvalKey', () => {
  it('is a SHA-256, the same for the same facts in any order', async () => {
    expect(await approvalKey(facts)).toMatch(/^[0-9a-f]{64}$/)
    const { tool, args, cwd, session, agent } = facts
    expect(await approvalKey({ agent, session, cwd, args, tool, env: {} })).toBe(await approvalKey(facts))
    expect(await approvalKey({ ...facts, args: { b: 1, a: 2 } })).toBe(
      await approvalKey({ ...facts, args: { a: 2, b: 1 } }),
    )
  })

  it('differs when any other fact differs (SEC-221)', async () => {
    const others: ApprovalFacts[] = [
      { ...facts, args: { command: 'git push origin b' } },
      { ...facts, tool: 'shell' },
      { ...facts, cwd: '/w/sub' },
      { ...facts, session: 's2' },
      { ...facts, agent: 'child' },
      { ...facts, env: { A: '1' } },
      { ...facts, sandbox: 'off' },
    ]
    const keys = await Promise.all([facts, ...others].map(approvalKey))
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('throws for arguments without a canonical text', () => {
    expect(() => approvalText({ ...facts, args: { at: new Map() } })).toThrow('a Map')
    expect(() => approvalText({ ...facts, args: { at: Number.NaN } })).toThrow('NaN')
    expect(() => approvalText({ ...facts, args: [undefined] })).toThrow('undefined')
  })
})

describe('canonicalJson', () => {
  it('is JSON, and two values have the same text only when they are equal', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(JSON.parse(canonicalJson(a))).toEqual(a)
        if (canonicalJson(a) === canonicalJson(b)) expect(a).toEqual(b)
      }),
    )
    expect(canonicalJson({ b: [1, -0, null], a: undefined, '': 'x' })).toBe('{"":"x","b":[1,-0,null]}')
  })
})

describe('suggestRule', () => {
  const book = createRuleBook({ scope, rules: defaultRules })
  const suggest = (call: Call): string[] | string => {
    const expanded = expandCall(call, scope)
    const suggestion = suggestRule(expanded, judge(expanded, book), book)
    return 'refused' in suggestion ? suggestion.refused : [...suggestion.text]
  }
  const bash = (text: string): Call => ({ tool: 'bash', subjects: [{ shell: { text } }] })

  it.each<[Call, string[]]>([
    [bash('npm test'), ['bash(npm test)']],
    [bash('git add -A && git commit -m "a b"'), ['bash(git add -A)', "bash(git commit -m 'a b')"]],
    [{ tool: 'write', subjects: [{ fs: 'write', path: 'src/a.ts' }] }, ['write(src/a.ts)']],
    [
      { tool: 'write', subjects: [{ fs: 'write', path: 'app/[id]/{x}*.ts' }] },
      ['write(app/\\[id\\]/\\{x\\}\\*.ts)'],
    ],
    [{ tool: 'web_fetch', subjects: [{ net: 'https://a.com/x' }] }, ['web_fetch(a.com)']],
    [{ tool: 'web_fetch', subjects: [{ net: 'example.com:8443' }] }, ['web_fetch(example.com:8443)']],
    [{ tool: 'web_fetch', subjects: [{ net: 'http://[::1]:8080/x' }] }, ['web_fetch([::1]:8080)']],
    [{ tool: 'web_fetch', subjects: [{ net: 'example.com:443' }] }, ['web_fetch(example.com)']],
    [
      { tool: 'write', subjects: [{ fs: 'write', path: `it's (1) "x".ts` }] },
      [`write(it\\'s \\(1\\) \\"x\\".ts)`],
    ],
    [bash(`mytool 'a)' "it's("`), [`bash(mytool 'a)' 'it'\\''s(')`]],
    [{ tool: 'mcp__fs__put', subjects: [{ fs: 'write', path: 'a' }] }, ['mcp:fs:put(a)']],
    [{ tool: 'mcp__gh__list', subjects: [] }, ['mcp:gh:list']],
    [{ tool: 'deploy', subjects: [] }, ['deploy']],
  ])('%j suggests %j', (call, expected) => {
    expect(suggest(call)).toEqual(expected)
  })

  it.each([
    'node -e 1',
    'python3 x.py',
    'bash x.sh',
    'sh -c "npm test"',
    'npx cowsay',
    'npm exec cowsay',
    'pnpm dlx x',
    'uvx ruff',
    'env npm test',
    'sudo ls',
    'xargs ls',
    'timeout 5 npm test',
    'find . -name x',
    'ssh h ls',
    'npm test $X',
    'npm test $(ls)',
    'npm test; $X',
    'npm test > out',
    'npm test "',
    'make',
    'docker run x',
    'git -c a=b log',
    'FOO=1 npm test',
  ])('offers nothing for %s (SEC-222)', (text) => {
    expect(suggest(bash(text))).toEqual(expect.stringMatching(/\w/))
  })

  it.each<[string, Call]>([
    ['a line break in a path', { tool: 'write', subjects: [{ fs: 'write', path: 'a)\nallow bash\n#' }] }],
    ['a separator in a path', { tool: 'write', subjects: [{ fs: 'write', path: 'a\u2028b' }] }],
    ['an escape in a path', { tool: 'write', subjects: [{ fs: 'write', path: 'a\x1b[2Kb' }] }],
    ['half a character in a path', { tool: 'write', subjects: [{ fs: 'write', path: 'a\ud800' }] }],
    ['a line break in a command', bash("mytool 'a\nb'")],
    ['a line break in the name of a tool', { tool: 'a\nallow bash', subjects: [] }],
    ['a line break in a capability', { tool: 'x', subjects: [{ capability: 'a.b\nallow bash' }] }],
    ['a capability that is all of them', { tool: 'x', subjects: [{ capability: '*' }] }],
    [
      'a tool of a server whose name is a star',
      { tool: 'x', mcp: { server: 'gh', tool: '*' }, subjects: [] },
    ],
    ['a tool whose id reads as a whole server', { tool: 'mcp__gh', subjects: [] }],
    [
      'a path too long for a pattern',
      { tool: 'write', subjects: [{ fs: 'write', path: 'a'.repeat(99_999) }] },
    ],
  ])('offers nothing for %s', (_, call) => {
    expect(suggest(call)).toEqual(expect.stringMatching(/\w/))
  })

  it('offers only rules that a rule file stores unchanged', () => {
    const odd = fc.stringMatching(/^[a-c()[\]{}'"\\*?~!#, .\n\r-]{1,8}$/)
    const text = fc.oneof(fc.string({ unit: anyCharacter, minLength: 1 }), odd, fc.string({ minLength: 1 }))
    const calls: fc.Arbitrary<Call> = fc.oneof(
      text.map((path): Call => ({ tool: 'write', subjects: [{ fs: 'write', path }] })),
      fc
        .array(text, { maxLength: 3 })
        .map((args): Call => ({ tool: 'bash', subjects: [{ shell: { argv: ['mytool', ...args] } }] })),
      text.map((tool): Call => ({ tool, subjects: [] })),
      text.map((capability): Call => ({ tool: 'x', subjects: [{ capability }] })),
    )
    let offered = 0
    fc.assert(
      fc.property(calls, (call) => {
        const expanded = expandCall(call, scope)
        const suggestion = suggestRule(expanded, judge(expanded, book), book)
        if ('refused' in suggestion) return
        offered += 1
        expect(parseProjectRules(formatProjectRules(suggestion.rules), scope)).toEqual(suggestion.rules)
      }),
      { numRuns: propertyRuns(2_000) },
    )
    expect(offered).toBeGreaterThan(propertyRuns(300))
  })

  it('offers nothing for a call that is always asked about, denied, or already allowed', () => {
    expect(suggest({ tool: 'write', subjects: [{ fs: 'write', path: '.git/hooks/x' }] })).toContain(
      'no rule can answer',
    )
    expect(suggest({ tool: 'write', subjects: [{ fs: 'write', path: '.mcp.json' }] })).toBe(
      'the call is denied',
    )
    expect(suggest({ tool: 'read', subjects: [{ fs: 'read', path: 'a' }] })).toBe('the call needs no rule')
  })

  it('offers only rules that allow this call, and not a longer one', () => {
    const word = fc.stringMatching(/^[a-z0-9 "'$*;=-]{1,8}$/)
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), word, (args, more) => {
        const argv = ['mytool', ...args]
        const call: Call = { tool: 'bash', subjects: [{ shell: { argv } }] }
        const expanded = expandCall(call, scope)
        const suggestion = suggestRule(expanded, judge(expanded, book), book)
        if ('refused' in suggestion) return
        const after = createRuleBook({ scope, rules: [...defaultRules, ...suggestion.rules] })
        expect(judge(call, after).verdict.action).toBe('allow')
        expect(
          judge({ ...call, subjects: [{ shell: { argv: [...argv, more] } }] }, after).verdict.action,
        ).toBe('ask')
      }),
    )
  })
})
