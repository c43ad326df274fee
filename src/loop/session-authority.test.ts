import { describe, expect, it } from 'vitest'
import { decide } from '../authority/decide.js'
import type { PermissionPolicy } from '../authority/policy.js'
import type { Rule } from '../authority/rule.js'
import type { Scope } from '../authority/scope.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createSessionAuthority, type SessionAuthority } from './session-authority.js'

const scopeOf = (name: string): Scope => ({
  variables: { workspace: ['/work'], scratch: [`/scratch/${name}`] },
  home: '/home/me',
})
const bash = createJsonTool({
  name: 'bash',
  description: 'Runs.',
  parameters: { type: 'object' },
  requires: { shell: [{ cmd: '*' }], fs: { read: ['**', '{scratch}/**'] } },
  execute: () => '',
})

function session(
  name: string,
  policy: PermissionPolicy,
  parent?: SessionAuthority,
  more: { readonly delegateApprovals?: boolean } = {},
): SessionAuthority {
  return createSessionAuthority({
    scope: () => scopeOf(name),
    tools: () => [bash],
    policy,
    ...more,
    ...(parent !== undefined && { parent: (child) => parent.delegated(child) }),
  })
}

const run = (text: string) => ({ tool: 'bash', subjects: [{ shell: { text } }] })
const verdict = (authority: SessionAuthority, text: string): string =>
  decide(run(text), authority.for(bash)).verdict.action
const agreed = (pattern: string): Rule => ({
  permission: 'bash',
  pattern,
  action: 'allow',
  source: 'session',
})
const anything: PermissionPolicy = { defaultDecision: 'allow' }

describe('the permissions that a session passes to its subagents', () => {
  it('are its own: a deny stays a deny and an ask stays an ask, at every depth', () => {
    const root = session('root', { deny: ['bash(rm *)'], ask: ['bash(make)'], allow: ['bash(ls)'] })
    const child = session('child', anything, root)
    const grandchild = session('grandchild', anything, child)
    for (const authority of [root, child, grandchild])
      expect(['rm x', 'make', 'ls', 'touch x'].map((text) => verdict(authority, text))).toEqual([
        'deny',
        'ask',
        'allow',
        'ask',
      ])
  })

  it('are narrowed by the rules of each subagent', () => {
    const root = session('root', anything)
    const child = session('child', { allow: ['bash(ls)'], defaultDecision: 'deny' }, root)
    const grandchild = session('grandchild', anything, child)
    expect(['ls', 'make'].map((text) => verdict(grandchild, text))).toEqual(['allow', 'deny'])
  })

  it('change with it', () => {
    const root = session('root', anything)
    const grandchild = session('grandchild', anything, session('child', anything, root))
    expect(verdict(grandchild, 'make')).toBe('allow')
    root.setMode('plan')
    expect(verdict(grandchild, 'make')).toBe('deny')
    root.setMode(undefined)
    root.addRule({ permission: 'bash', pattern: 'make', action: 'ask', source: 'session' })
    expect(verdict(grandchild, 'make')).toBe('ask')
  })

  it('do not include the user’s approvals for the session, unless the host says so', () => {
    for (const delegateApprovals of [false, true]) {
      const root = session('root', {}, undefined, { delegateApprovals })
      root.addRule(agreed('make'))
      expect(verdict(root, 'make')).toBe('allow')
      expect(verdict(session('child', anything, root), 'make')).toBe(delegateApprovals ? 'allow' : 'ask')
    }
  })

  it('include the user’s approvals for the subagent itself, which override no deny', () => {
    const root = session('root', { deny: ['bash(rm *)'] })
    const child = session('child', anything, root)
    const grandchild = session('grandchild', anything, child)
    grandchild.addRule(agreed('make'))
    grandchild.addRule(agreed('rm x'))
    expect(['make', 'rm x'].map((text) => verdict(grandchild, text))).toEqual(['allow', 'deny'])
    expect(verdict(child, 'make')).toBe('ask')
    const strict = session('strict', { allow: ['bash(ls)'], defaultDecision: 'deny' })
    const own = session('own', anything, strict)
    own.addRule(agreed('make'))
    expect(verdict(own, 'make')).toBe('deny')
  })

  it('apply to the workspace of the subagent', () => {
    const child = session('child', anything, session('root', anything))
    const read = (path: string) =>
      decide({ tool: 'bash', subjects: [{ fs: 'read', path }] }, child.for(bash)).verdict.action
    expect(read('/scratch/child/a')).toBe('allow')
    expect(read('/scratch/root/a')).toBe('deny')
  })
})
