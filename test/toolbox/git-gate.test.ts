import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ModeName } from '../../src/authority/mode.js'
import type { PermissionPolicy } from '../../src/authority/policy.js'
import { permitFor } from '../../src/loop/call-permit.js'
import { createGate } from '../../src/loop/gate.js'
import type { GateParts } from '../../src/loop/gate-parts.js'
import { createSessionAuthority } from '../../src/loop/session-authority.js'
import { ToolSet } from '../../src/tool/tool-set.js'
import { bashTool } from '../../src/toolbox/bash.js'
import { gitTool } from '../../src/toolbox/git.js'
import { globTool } from '../../src/toolbox/glob.js'
import { grepTool } from '../../src/toolbox/grep.js'
import { openWorkspace, type Workspace } from '../../src/workspace/open-workspace.js'
import { makeRepository } from '../contract/open-session.js'
import { describeWithBubblewrap } from '../security/sandbox/support/needs-bubblewrap.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { workerLedger } from '../support/worker-ledger.js'

let base: string
let root: string
let open: Workspace[]
beforeEach(() => {
  base = temporaryDirectory()
  root = join(base, 'work')
  mkdirSync(root)
  open = []
  writeFileSync(join(root, 'a.txt'), 'one\n')
  makeRepository(root)
})
afterEach(async () => {
  await Promise.all(open.map((workspace) => workspace.close()))
})

function gateWith(
  mode: ModeName | undefined,
  parts: Partial<GateParts> = {},
  sandbox: 'off' | 'required' = 'off',
  policy?: PermissionPolicy,
): (name: string, args: unknown) => Promise<string> {
  const workspace = openWorkspace({
    root,
    sandbox,
    scratchDir: join(base, 'scratch'),
    ledgerDir: workerLedger,
  })
  open.push(workspace)
  const tools = ToolSet.fromTools([gitTool, bashTool, grepTool, globTool])
  const authority = createSessionAuthority({
    scope: () => workspace.scope,
    tools: () => tools.values(),
    ...(mode === undefined ? {} : { mode }),
    ...(policy === undefined ? {} : { policy }),
  })
  let ids = 0
  const gate = createGate({
    tools: { get: (name) => tools.get(name), names: () => tools.values().map(({ name }) => name) },
    authorityFor: (tool) => authority.for(tool),
    keepRule: (rule) => authority.addRule(rule),
    runtimeFor: ({ call, authority: own, signal, origin }) =>
      workspace.runtimeFor(permitFor(call, own, origin === 'host'), signal),
    realPath: (path) => workspace.realPath(path),
    spill: (label, data) => workspace.scratch.write(label, data),
    record: () => undefined,
    now: () => performance.now(),
    newId: () => `call-${++ids}`,
    ...parts,
  })
  return async (name, args) => {
    const { envelope } = await gate.call({ name, origin: 'model', input: { value: args } })
    return envelope.type === 'error' ? envelope.error_text : String(envelope.data)
  }
}

describe('git at the gate', () => {
  it('reads in the read-only mode, and changes nothing there', async () => {
    const call = gateWith('read-only', {}, 'off', { allow: ['git'] })
    expect(await call('git', { command: 'status' })).toContain('Branch:    main')
    expect(await call('git', { command: 'log', ref: 'main', path: 'a.txt' })).toContain('first')
    expect(await call('git', { command: 'diff', target: 'HEAD' })).toBe('No changes.')
    expect(await call('git', { command: 'branch' })).toBe('Branches:\n* main')
    expect(await call('git', { command: 'stash' })).toBe('No stashes found.')
    for (const args of [
      { command: 'branch', name: 'x' },
      { command: 'checkout', ref: 'main' },
      { command: 'stash', message: 'm' },
      { command: 'worktree', subcommand: 'create', name: 'x' },
    ])
      expect(await call('git', args)).toContain('read-only')
    expect(existsSync(join(root, '.git/refs/heads/x'))).toBe(false)
  })

  it('reads without asking, is otherwise refused when no user can be asked, and reports invalid arguments before that', async () => {
    const call = gateWith(undefined)
    expect(await call('git', { command: 'status' })).toContain('Status:    clean')
    expect(await call('git', { command: 'branch', name: 'dev' })).toMatch(
      /no rule covers.*No user can be asked/,
    )
    expect(await call('git', { command: 'checkout' })).toContain('ref parameter is required for checkout')
    expect(await call('bash', {})).toContain('command parameter is required')
  })

  it('runs exactly the text that was approved', async () => {
    const asked: string[] = []
    const call = gateWith(undefined, {
      onAsk: async (request) => {
        asked.push(JSON.stringify(request))
        return { decision: 'once' }
      },
    })
    expect(await call('git', { command: 'status' })).toContain('Status:    clean')
    expect(await call('git', { command: 'branch', name: 'dev' })).toContain('Created branch: dev')
    expect(
      await call('git', { command: 'worktree', subcommand: 'create', name: 'dev', new_branch: false }),
    ).toBe(`Created worktree: ${root}-dev (branch: dev)`)
    expect(asked).toHaveLength(2)
    expect(asked[0]).toContain('git branch --no-track -- dev HEAD')
  })

  it('allows grep and glob by the built-in rules', async () => {
    const call = gateWith(undefined)
    expect(await call('grep', { pattern: 'one' })).toContain('>a.txt:1: one')
    expect(await call('glob', { pattern: '*.txt', path: '.' })).toContain('a.txt\n\n1 of 1 file(s) shown')
  })
})

describeWithBubblewrap('git in the sandbox', () => {
  it('reads, stashes, branches and switches', async () => {
    const call = gateWith('full', {}, 'required')
    expect(await call('git', { command: 'status' })).toContain('Status:    clean')
    writeFileSync(join(root, 'a.txt'), 'two\n')
    expect(await call('git', { command: 'diff' })).toContain('+two')
    expect(await call('git', { command: 'stash', message: 'm' })).toBe('Created stash')
    expect(await call('git', { command: 'branch', name: 'dev' })).toContain('Created branch')
    expect(await call('git', { command: 'checkout', ref: 'dev' })).toBe('Checked out: dev')
    expect(await call('git', { command: 'worktree', subcommand: 'create', name: 'in', path: 'in' })).toBe(
      'Created worktree: in (branch: in)',
    )
  })

  it('reports that a work tree next to the workspace cannot be created', async () => {
    const call = gateWith(undefined, { onAsk: async () => ({ decision: 'once' }) }, 'required')
    const text = await call('git', { command: 'worktree', subcommand: 'create', name: 'out' })
    expect(text).toContain('give a path inside it')
    expect(existsSync(`${root}-out`)).toBe(false)
  })
})
