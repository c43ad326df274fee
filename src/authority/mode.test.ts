import { describe, expect, it } from 'vitest'
import type { Call } from './call.js'
import { decide } from './decide.js'
import { defaultRules } from './default-rules.js'
import { createModeBooks, type ModeName, modeNames, modes } from './mode.js'
import type { Rule } from './rule.js'
import type { Action } from './verdict.js'

const scope = { variables: { workspace: ['/w'], scratch: ['/tmp/s'] }, home: '/home/u' }
const bash = (text: string): Call => ({ tool: 'bash', subjects: [{ shell: { text } }] })
const write = (path: string, tool = 'write'): Call => ({ tool, subjects: [{ fs: 'write', path }] })
const everything: Rule = { permission: '*', pattern: '*', action: 'allow', source: 'session' }

function inMode(name: ModeName, call: Call, ...rules: Rule[]): Action {
  const { book, limit } = createModeBooks({ scope, rules: [...defaultRules, ...rules] }, modes[name])
  return decide(call, { book, ...(limit && { limits: [limit] }) }).verdict.action
}

describe('modes are permission sets', () => {
  it.each<[string, Call, Record<ModeName, Action>]>([
    [
      'read inside',
      { tool: 'read', subjects: [{ fs: 'read', path: 'a' }] },
      { plan: 'allow', 'read-only': 'allow', 'accept-edits': 'allow', full: 'allow' },
    ],
    [
      'read outside',
      { tool: 'read', subjects: [{ fs: 'read', path: '/etc/hosts' }] },
      { plan: 'ask', 'read-only': 'ask', 'accept-edits': 'ask', full: 'allow' },
    ],
    ['write', write('a'), { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'allow', full: 'allow' }],
    [
      'write outside',
      write('/etc/x'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'write by an MCP tool',
      write('a', 'mcp__fs__put'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'allow', full: 'allow' },
    ],
    [
      'an MCP tool without subjects',
      { tool: 'mcp__x__y', subjects: [] },
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a command that reads',
      bash('git log'),
      { plan: 'deny', 'read-only': 'ask', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a command that writes',
      bash('rm x'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a redirection',
      bash('ls > x'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a doubtful command',
      bash('ls $X'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'ask' },
    ],
    [
      'fetch',
      { tool: 'web_fetch', subjects: [{ net: 'a.com' }] },
      { plan: 'ask', 'read-only': 'ask', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'todo',
      { tool: 'todo', subjects: [] },
      { plan: 'allow', 'read-only': 'allow', 'accept-edits': 'allow', full: 'allow' },
    ],
    [
      'a command of a tool with the name of a session tool',
      { tool: 'skill', subjects: [{ shell: { text: 'touch x' } }] },
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a file of such a tool',
      { tool: 'program', subjects: [{ fs: 'write', path: '/etc/x' }] },
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a host of such a tool',
      { tool: 'todo', subjects: [{ net: 'a.com' }] },
      { plan: 'ask', 'read-only': 'ask', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a capability of such a tool',
      { tool: 'think', subjects: [{ capability: 'secrets.has' }] },
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'allow' },
    ],
    [
      'a child',
      { tool: 'task', subjects: [] },
      { plan: 'allow', 'read-only': 'allow', 'accept-edits': 'allow', full: 'allow' },
    ],
    [
      'a hook of git',
      write('.git/hooks/x'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'ask', full: 'ask' },
    ],
    [
      'its own rules',
      write('.capstan/rules'),
      { plan: 'deny', 'read-only': 'deny', 'accept-edits': 'deny', full: 'deny' },
    ],
  ])('%s', (_, call, expected) => {
    expect(Object.fromEntries(modeNames.map((name) => [name, inMode(name, call)]))).toEqual(expected)
  })

  it('no rule allows what a mode does not include', () => {
    for (const name of ['plan', 'read-only'] as const) {
      expect(inMode(name, write('a'), everything)).toBe('deny')
      expect(inMode(name, bash('rm x'), everything)).toBe('deny')
      expect(inMode(name, bash('git log > x'), everything)).toBe('deny')
      expect(inMode(name, { tool: 'deploy', subjects: [] }, everything)).toBe('deny')
    }
    expect(inMode('read-only', bash('git log -5 | head -2'), everything)).toBe('allow')
  })

  it.each(['date -s 2020', 'date --set=2020', 'date --se 2020', 'date 010100002020', 'date -f x'])(
    'read-only does not set the clock: %s',
    (text) => {
      expect(inMode('read-only', bash(text), everything)).toBe('deny')
      expect(inMode('read-only', bash('date'), everything)).toBe('allow')
    },
  )

  it.each([
    'hostname x',
    'sysctl -w a=1',
    'ifconfig eth0 down',
    'mount a b',
    'uniq a b',
    'tee x',
    'env x',
    'dd',
  ])('read-only does not accept %s as a command that reads', (text) => {
    expect(inMode('read-only', bash(text), everything)).toBe('deny')
  })

  it('no mode allows what is not understood; only a host can', () => {
    const deny: Rule = { permission: 'bash', pattern: 'rm -rf*', action: 'deny', source: 'manifest' }
    for (const text of ['cat $X', 'echo "unclosed', 'bash -c "$X"'])
      expect(inMode('full', bash(text), deny)).toBe('ask')
    expect(inMode('full', bash('x=rm; $x -rf src'), deny)).toBe('deny')
    const lenient = createModeBooks({ scope, rules: defaultRules, doubts: 'allow' }, modes.full)
    expect(decide(bash('cat $X'), lenient).verdict.action).toBe('allow')
  })

  it('a mode does not override restrictions', () => {
    expect(
      inMode('full', bash('git push'), {
        permission: 'bash',
        pattern: 'git push*',
        action: 'ask',
        source: 'manifest',
      }),
    ).toBe('ask')
    expect(
      inMode('accept-edits', write('a'), {
        permission: 'write',
        pattern: 'a',
        action: 'deny',
        source: 'session',
      }),
    ).toBe('deny')
  })

  it('applies to the subagents of a session too', () => {
    const parent = createModeBooks({ scope, rules: defaultRules }, modes.plan)
    const child = createModeBooks({ scope, rules: [everything] }, modes.full)
    const authority = {
      book: child.book,
      parent: { book: parent.book, limits: parent.limit ? [parent.limit] : [] },
    }
    expect(decide(write('a'), authority).verdict).toEqual({
      action: 'deny',
      reason:
        'no rule covers writing "/w/a", so it is denied (the mode "plan" reads and plans; changes nothing and runs no command)',
    })
  })
})
