import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { Subject } from '../tool/subject.js'
import type { Call } from './call.js'
import { compileRule, ruleMatches } from './compiled-rule.js'
import { judge, readableResults } from './judge.js'
import { compilePolicy, type PermissionPolicy } from './policy.js'
import type { Rule } from './rule.js'
import { createRuleBook, type RuleBookOptions } from './rule-book.js'
import type { Scope } from './scope.js'
import { type Action, actions, strictness } from './verdict.js'

const scope: Scope = { variables: { workspace: ['/w'], scratch: ['/tmp/s'] }, home: '/home/u' }

const bash = (text: string): Call => ({ tool: 'bash', subjects: [{ shell: { text } }] })
const file = (tool: string, path: string, fs: 'read' | 'write' = 'read'): Call => ({
  tool,
  subjects: [{ fs, path }],
})
const fetch = (url: string): Call => ({ tool: 'web_fetch', subjects: [{ net: url }] })

function act(call: Call, rules: readonly Rule[], options: Partial<RuleBookOptions> = {}): Action {
  return judge(call, createRuleBook({ scope, rules, ...options })).verdict.action
}
function underPolicy(call: Call, policy: PermissionPolicy): Action {
  const { rules, defaultDecision } = compilePolicy(policy)
  return act(call, rules, { defaultDecision })
}
const rule = (text: string, action: Action, over: Partial<Rule> = {}): Rule => {
  const found = /^([^(]+)\((.*)\)$/.exec(text)
  return { permission: found?.[1] ?? text, pattern: found?.[2] ?? '*', action, source: 'session', ...over }
}

describe('the policy of seed 001', () => {
  const policy: PermissionPolicy = {
    deny: ['write(**/.env*)', 'bash(rm -rf*)'],
    ask: ['bash(git push*)', 'bash(npm publish*)'],
    allow: ['read(*)', 'grep(*)', 'glob(*)', 'bash(npm run build*)'],
    defaultDecision: 'ask',
    enabled: true,
  }
  it.each<[string, Call, Action]>([
    ['write .env', file('write', '.env', 'write'), 'deny'],
    ['edit a/.env.local', file('edit', 'a/.env.local', 'write'), 'deny'],
    ['read .env', file('read', '.env'), 'allow'],
    ['write a', file('write', 'a', 'write'), 'ask'],
    ['read outside', file('read', '/etc/passwd'), 'ask'],
    ['rm -rf', bash('rm -rf a/b'), 'deny'],
    ['rm -fr', bash('rm -f -r a'), 'deny'],
    ['env rm -rf', bash('env rm -rf a'), 'deny'],
    ['build', bash('npm run build'), 'allow'],
    ['build and rm', bash('npm run build && rm -rf x'), 'deny'],
    ['build and ls', bash('npm run build && ls'), 'ask'],
    ['push', bash('git push origin main'), 'ask'],
    ['write through the shell', bash('npm run build > .env'), 'deny'],
    ['redirect', bash('npm run build > out.log'), 'ask'],
    ['fetch', fetch('https://a.com'), 'ask'],
    ['unknown tool', { tool: 'deploy', subjects: [] }, 'ask'],
  ])('%s', (_, call, expected) => {
    expect(underPolicy(call, policy)).toBe(expected)
  })
})

describe('order', () => {
  const push = bash('git push origin main')
  it.each<[string, Rule[], Call, Action]>([
    [
      'a pinned deny decides',
      [rule('bash(git*)', 'deny', { pinned: true }), rule('bash(git push origin main)', 'allow')],
      push,
      'deny',
    ],
    [
      'a pinned deny decides also when an ask is more specific',
      [rule('bash(git*)', 'deny', { pinned: true }), rule('bash(git push origin main)', 'ask')],
      push,
      'deny',
    ],
    [
      'every manifest deny is pinned',
      [rule('bash(git*)', 'deny', { source: 'manifest' }), rule('bash(git push origin main)', 'allow')],
      push,
      'deny',
    ],
    [
      'a deny that is not pinned is overridden by a more specific rule',
      [rule('bash(git *)', 'deny'), rule('bash(git push origin main)', 'allow')],
      push,
      'allow',
    ],
    [
      'a pinned ask is not overridden by an allow',
      [rule('bash(git *)', 'ask', { pinned: true }), rule('bash(git push origin main)', 'allow')],
      push,
      'ask',
    ],
    [
      'exact tool over capability',
      [rule('shell.run(git push origin main)', 'deny'), rule('bash(git *)', 'allow')],
      push,
      'allow',
    ],
    ['capability over everything', [rule('*', 'deny'), rule('shell.run(git *)', 'allow')], push, 'allow'],
    ['longer literal pattern', [rule('bash(git *)', 'allow'), rule('bash(git push *)', 'ask')], push, 'ask'],
    [
      'a pattern over the plain tool',
      [rule('bash', 'deny', { source: 'session' }), rule('bash(git push *)', 'allow', { source: 'project' })],
      push,
      'allow',
    ],
    [
      'session over project',
      [rule('bash(git *)', 'ask', { source: 'project' }), rule('bash(git *)', 'allow')],
      push,
      'allow',
    ],
    [
      'project over manifest',
      [
        rule('bash(git *)', 'allow', { source: 'manifest' }),
        rule('bash(git *)', 'ask', { source: 'project' }),
      ],
      push,
      'ask',
    ],
    [
      'newest',
      [rule('bash(git *)', 'ask', { added_at: 1 }), rule('bash(git *)', 'allow', { added_at: 2 })],
      push,
      'allow',
    ],
    [
      'then the stricter',
      [rule('bash(git *)', 'allow'), rule('bash(git *)', 'ask'), rule('bash(git *)', 'allow')],
      push,
      'ask',
    ],
    [
      'exact MCP tool over its server',
      [rule('mcp:gh:*', 'deny'), rule('mcp:gh:list', 'allow')],
      { tool: 'mcp__gh__list', subjects: [] },
      'allow',
    ],
    [
      'an MCP server over everything',
      [rule('*', 'allow'), rule('mcp:g*:*', 'deny')],
      { tool: 'mcp__gh__list', subjects: [] },
      'deny',
    ],
    [
      'a rule for another MCP server does not match',
      [rule('*', 'allow'), rule('mcp:gl:*', 'deny')],
      { tool: 'mcp__gh__list', subjects: [] },
      'allow',
    ],
    [
      'a capability by name',
      [rule('secrets.has', 'allow')],
      { tool: 'x', subjects: [{ capability: 'secrets.has' }] },
      'allow',
    ],
  ])('%s', (_, rules, call, expected) => {
    expect(act(call, rules)).toBe(expected)
    expect(act(call, rules.toReversed())).toBe(expected)
  })

  it('uses the strictest verdict of all subjects', () => {
    const call: Call = {
      tool: 'copy',
      subjects: [
        { fs: 'read', path: 'a' },
        { fs: 'write', path: 'b' },
      ],
    }
    expect(act(call, [rule('fs.read', 'allow')])).toBe('ask')
    expect(act(call, [rule('fs.read', 'allow'), rule('fs.write', 'deny')])).toBe('deny')
    expect(act(call, [rule('fs.read', 'allow'), rule('fs.write', 'allow')])).toBe('allow')
  })

  it('lists every matching rule with its rank, and which one decided', () => {
    const rules = [rule('*', 'allow'), rule('fs.read(src/**)', 'ask'), rule('read(src/a.ts)', 'deny')]
    const { verdict, subjects } = judge(file('read', 'src/a.ts'), createRuleBook({ scope, rules }))
    expect(verdict).toEqual({
      action: 'deny',
      reason: 'reading "/w/src/a.ts" is denied by the rule read(src/a.ts) (session)',
    })
    expect(subjects[0]?.rule).toBe(rules[2])
    expect(subjects[0]?.matches.map((one) => [one.rank, one.level, one.rule.action])).toEqual([
      [1, 'tool', 'deny'],
      [2, 'capability', 'ask'],
      [3, 'everything', 'allow'],
    ])
  })

  it('names the option that decides when no rule does', () => {
    const { verdict } = judge(bash('npm test'), createRuleBook({ scope, rules: [] }))
    expect(verdict).toEqual({
      action: 'ask',
      reason: 'no rule covers running "npm test"',
    })
  })
})

describe('restrictions apply to every tool', () => {
  const denies: PermissionPolicy = {
    deny: ['read(**/.ssh/**)', 'write(**/.env*)', 'web_fetch(evil.com)', 'bash(rm *)'],
    allow: ['bash', 'grep(*)', 'edit(*)', '*'],
  }
  it.each<[Call, Action]>([
    [bash('cat ~/.ssh/id_rsa'), 'deny'],
    [bash('< ~/.ssh/id_rsa cat'), 'deny'],
    [bash('cd ~/.ssh && cat id_rsa'), 'deny'],
    [bash('cp .env /tmp/s/x'), 'allow'],
    [bash('cp a .env'), 'deny'],
    [bash('curl https://evil.com/x'), 'deny'],
    [file('grep', '/home/u/.ssh'), 'deny'],
    [file('mcp__fs__get', '/home/u/.ssh/config'), 'deny'],
    [file('edit', '.env', 'write'), 'deny'],
    [{ tool: 'fetch_page', subjects: [{ net: 'evil.com' }] }, 'deny'],
    [{ tool: 'spawn', subjects: [{ shell: { argv: ['rm', 'x'] } }] }, 'deny'],
    [{ tool: 'spawn', subjects: [{ shell: { argv: ['sh', '-c', 'rm x'] } }] }, 'deny'],
  ])('%j is %s', (call, expected) => {
    expect(underPolicy(call, denies)).toBe(expected)
  })

  it('a word that is unknown could be the one that a deny names', () => {
    const rules = [rule('bash(git push origin)', 'deny'), rule('bash(git push other)', 'deny')]
    for (const text of ['git $A origin', 'git push $A', 'git "$A" "$B"', '$G push origin'])
      expect(act(bash(text), rules)).toBe('deny')
    expect(act(bash('git pull $A'), rules)).toBe('ask')
  })

  it('except those about a whole tool', () => {
    expect(underPolicy(bash('cat a'), { deny: ['grep', 'read'], allow: ['bash(cat *)'] })).toBe('allow')
    expect(underPolicy(file('edit', 'a', 'write'), { ask: ['write(*)'], allow: ['edit(*)'] })).toBe('allow')
    expect(underPolicy(file('edit', 'a', 'write'), { deny: ['fs.write'], allow: ['edit(*)'] })).toBe('deny')
  })

  it('as if they were written for each tool: only a more specific rule overrides one that is not pinned', () => {
    const deny = rule('read(secret/**)', 'deny')
    expect(act(file('grep', 'secret/a'), [deny, rule('grep(*)', 'allow')])).toBe('deny')
    expect(act(file('grep', 'secret/a'), [deny, rule('grep(secret/a)', 'allow')])).toBe('allow')
  })

  it('but permissions do not', () => {
    const policy: PermissionPolicy = { allow: ['read(*)', 'write(*)', 'bash(cat *)'] }
    expect(underPolicy(file('mcp__fs__get', 'a'), policy)).toBe('ask')
    expect(underPolicy(bash('cat a > b'), policy)).toBe('ask')
    expect(underPolicy({ tool: 'spawn', subjects: [{ shell: { argv: ['cat', 'a'] } }] }, policy)).toBe('ask')
  })

  it('an ask for another tool restricts an allow, and does not soften a deny', () => {
    const rules = [rule('read(**/.env*)', 'ask'), rule('bash(cat *)', 'allow')]
    expect(act(bash('cat .env'), rules)).toBe('ask')
    expect(act(bash('cat a'), rules)).toBe('allow')
    expect(act(file('peek', '.env'), rules, { defaultDecision: 'deny' })).toBe('deny')
  })

  it('restrictions apply to the results of a search', () => {
    const { rules } = compilePolicy({ deny: ['read(**/.env*)'], ask: ['read(**/*.pem)'], allow: ['grep(*)'] })
    const readable = readableResults(createRuleBook({ scope, rules }), file('grep', '.'))
    expect(['/w/a', '/w/.env', '/w/key.pem', '/w/sub/.env.local', '/w/env.ts'].filter(readable)).toEqual([
      '/w/a',
      '/w/env.ts',
    ])
  })
})

describe('commands', () => {
  const allowed: PermissionPolicy = {
    allow: ['bash(cat *)', 'bash(git log*)', 'bash(ls*)', 'bash(cd *)', 'read(*)', 'fs.read(*)'],
  }
  it.each<[string, Action]>([
    ['cat a b', 'allow'],
    ['cat a | ls', 'allow'],
    ['cat $X', 'ask'],
    ['cat /etc/passwd', 'ask'],
    ['cd /etc && cat passwd', 'ask'],
    ['cd "$D" && cat x', 'ask'],
    ['git log --output=f', 'ask'],
    ['ls; rm x', 'ask'],
    ['ls $(rm x)', 'ask'],
    ['', 'ask'],
    ['# nothing', 'ask'],
    ['ls 2>/dev/null', 'allow'],
    ['ls > /dev/null 2>&1', 'allow'],
    ['cat < a', 'allow'],
    ['cat < /etc/passwd', 'ask'],
    ['ls "', 'ask'],
    ['ls \0', 'deny'],
  ])('%j is %s', (text, expected) => {
    expect(underPolicy(bash(text), allowed)).toBe(expected)
  })

  it.each<[string, string[], Action]>([
    ['sh build.sh', ['bash(sh build.sh)'], 'allow'],
    ['bash -e ./ci/test.sh --fast', ['bash(bash -e ./ci/test.sh *)'], 'allow'],
    ['sh build.sh now', ['bash(sh build.sh)'], 'ask'],
    ['sh build.sh', ['bash(sh *)'], 'ask'],
    ['sh build.sh', ['bash(sh build*)'], 'ask'],
    ['sh build.sh', ['bash(*)'], 'ask'],
    ['sh build.sh', ['bash'], 'ask'],
    ['sh build.sh', ['*'], 'ask'],
    ['cd sub && sh build.sh', ['bash(sh build.sh)', 'bash(cd *)'], 'ask'],
    ['sh -x build.sh', ['bash(sh -x build.sh)'], 'ask'],
    ['sh $X', ['bash(sh *)'], 'ask'],
    ['sh /etc/build.sh', ['bash(sh /etc/build.sh)'], 'ask'],
    ['sh build.sh; rm x', ['bash(sh build.sh)'], 'ask'],
  ])('%j under %j is %s: only a rule that names a script file allows it', (text, allow, expected) => {
    expect(underPolicy(bash(text), { allow })).toBe(expected)
  })

  it.each([
    `bash -c 'a=~; rm x'`,
    `bash -c 'PATH=a:~/b rm x'`,
    `flock l -c "'rm'"`,
    `flock l -c 'r\\m'`,
    `flock l -c 'true;rm'`,
    `su -c'rm'`,
    `su --command=rm`,
    `unknown -c 'true;rm'`,
    `unknown -c "'rm'"`,
  ])('%j is denied: a script is analyzed also without spaces, and with a quoted tilde', (text) => {
    expect(underPolicy(bash(text), { allow: ['bash(*)'], deny: ['bash(rm*)'] })).toBe('deny')
  })

  it('never allow a script file when a mode denies what is not understood', () => {
    const rules = [rule('bash', 'allow')]
    expect(act(bash('sh build.sh'), rules, { doubts: 'deny' })).toBe('deny')
    expect(underPolicy(bash('sh build.sh'), { allow: ['bash(sh build.sh)'], deny: ['bash(sh *)'] })).toBe(
      'deny',
    )
  })

  it('are asked about when in doubt even if everything is allowed, unless doubtful commands are allowed too', () => {
    expect(underPolicy(bash('$X a'), { allow: ['bash', '*'], defaultDecision: 'allow' })).toBe('ask')
    expect(act(bash('$X a'), [rule('*', 'allow')], { doubts: 'allow' })).toBe('allow')
    expect(act(bash('$X a'), [rule('*', 'allow')], { doubts: 'deny' })).toBe('deny')
  })
})

describe('a tool that reports no subjects', () => {
  it('is asked about when rules restrict part of its work', () => {
    const rules = [rule('deploy(prod*)', 'deny'), rule('deploy', 'allow')]
    expect(act({ tool: 'deploy', subjects: [] }, rules)).toBe('ask')
    expect(act({ tool: 'deploy', subjects: [] }, [rule('deploy', 'allow')])).toBe('allow')
  })

  it('is denied when the call can never run', () => {
    expect(act(file('read', 'a\0b'), [rule('*', 'allow')])).toBe('deny')
    expect(act(fetch('https://a@b.com'), [rule('*', 'allow')])).toBe('deny')
  })
})

describe('unconfirmed rules', () => {
  const project = (text: string, action: Action): Rule =>
    rule(text, action, { source: 'project', untrusted: true })
  it('can restrict and never allow', () => {
    expect(act(bash('ls'), [project('bash(ls)', 'allow')])).toBe('ask')
    expect(act(bash('ls'), [rule('bash', 'allow'), project('bash(ls)', 'deny')])).toBe('deny')
    expect(act(bash('ls'), [rule('bash(ls)', 'allow'), project('bash', 'ask')])).toBe('ask')
    expect(act(bash('ls'), [rule('bash', 'deny'), project('bash(ls)', 'ask')])).toBe('deny')
  })
})

describe('properties', () => {
  const permission = fc.constantFrom(
    'read',
    'write',
    'edit',
    'bash',
    'fs.read',
    'fs.write',
    'shell.run',
    'net.fetch',
    '*',
    'mcp:a:*',
    'deploy',
  )
  const patterns = fc.constantFrom(
    '*',
    '**/.env*',
    'src/**',
    'src/a.ts',
    'git *',
    'git push*',
    'git push origin',
    '/bin/rm -rf*',
    '* push',
    '*.{ts,md}',
    '**/s*',
    '**/*.ts',
    'rm -rf*',
    'ls',
    'cat *',
    '/etc/**',
  )
  const source = fc.constantFrom('manifest' as const, 'project' as const, 'session' as const)
  const rules: fc.Arbitrary<Rule> = fc
    .record({
      permission,
      pattern: patterns,
      action: fc.constantFrom(...actions),
      source,
      pinned: fc.boolean(),
      untrusted: fc.boolean(),
      added_at: fc.nat(3),
    })
    .filter(({ permission: name, pattern }) => name !== 'net.fetch' || pattern === '*')
  const paths = fc.constantFrom('.env', 'src/a.ts', 'src/b', '/etc/passwd', '../x', '~/.ssh/id', 'SRC/a.ts')
  const texts = fc.oneof(
    fc.constantFrom(
      'git push',
      'git -C x push origin',
      'git push --force "$B"',
      'git log',
      'ls',
      'rm -rf x',
      'cat src/a.ts',
      'cat .env > /etc/x',
      'ls; rm -rf /',
      '$X',
      'ls $(git push)',
    ),
    fc.string(),
  )
  const subjects: fc.Arbitrary<Subject> = fc.oneof(
    fc.record({ fs: fc.constantFrom('read' as const, 'write' as const), path: fc.oneof(paths, fc.string()) }),
    texts.map((text) => ({ shell: { text } })),
    fc.constantFrom('a.com', 'https://b.org/x', 'bad host').map((net) => ({ net })),
    fc.constant({ capability: 'x.y' }),
  )
  const calls: fc.Arbitrary<Call> = fc.record({
    tool: fc.constantFrom('read', 'write', 'bash', 'mcp__a__b', 'deploy', 'other'),
    subjects: fc.array(subjects, { maxLength: 3 }),
  })
  const settings = fc.record({
    defaultDecision: fc.constantFrom(...actions),
    doubts: fc.constantFrom(...actions),
  })

  it('adding a deny, or an unconfirmed rule, never allows more', () => {
    fc.assert(
      fc.property(
        fc.array(rules, { maxLength: 8 }),
        rules,
        fc.nat(8),
        calls,
        settings,
        (before, added, at, call, options) => {
          const narrow: Rule = added.untrusted ? added : { ...added, action: 'deny' }
          const after = before.toSpliced(at, 0, narrow)
          expect(strictness(act(call, after, options))).toBeGreaterThanOrEqual(
            strictness(act(call, before, options)),
          )
        },
      ),
      { numRuns: propertyRuns(500) },
    )
  })

  it('no pattern allows a command that is not understood', () => {
    const broken = fc.constantFrom(
      'ls "',
      'ls $(',
      'ls `',
      'ls <<',
      '(ls',
      'if ls',
      'ls \u200b',
      'ls \r',
      '$X',
      'ls $X',
      '{ls,x}',
    )
    fc.assert(
      fc.property(
        fc.array(rules, { maxLength: 8 }),
        broken,
        fc.constantFrom(...actions),
        (all, text, defaultDecision) => {
          const everything = [...all, rule('bash', 'allow'), rule('*', 'allow'), rule('bash(ls *)', 'allow')]
          expect(act(bash(text), everything, { defaultDecision })).not.toBe('allow')
        },
      ),
    )
  })

  it('never throws, is deterministic, and is as strict as its strictest subject', () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 6 }), calls, settings, (all, call, options) => {
        const book = createRuleBook({ scope, rules: all, ...options })
        const { verdict, subjects: judged } = judge(call, book)
        expect(judge(call, book).verdict).toEqual(verdict)
        for (const one of judged)
          expect(strictness(verdict.action)).toBeGreaterThanOrEqual(strictness(one.verdict.action))
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  it('finds in the index exactly the rules that trying all of them finds', () => {
    const everywhere = rules.map((one): Rule => ({ ...one, permission: '*', untrusted: false }))
    fc.assert(
      fc.property(fc.array(everywhere, { maxLength: 12 }), calls, fc.boolean(), (all, call, ignoreCase) => {
        const place: Scope = { ...scope, ignoreCase }
        const judged = judge(call, createRuleBook({ scope: place, rules: all }))
        for (const { subject, matches } of judged.subjects) {
          const tried = all.filter((one, at) => ruleMatches(compileRule(one, at, place), subject))
          expect(new Set(matches.map((one) => one.rule))).toEqual(new Set(tried))
        }
      }),
      { numRuns: propertyRuns(500) },
    )
  })
})
