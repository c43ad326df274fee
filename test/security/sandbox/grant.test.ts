import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { permitFor } from '../../../src/loop/call-permit.js'
import { createGate } from '../../../src/loop/gate.js'
import { createSessionAuthority } from '../../../src/loop/session-authority.js'
import { createJsonTool } from '../../../src/tool/create-json-tool.js'
import type { RequirementSet } from '../../../src/tool/requirement.js'
import { ToolSet } from '../../../src/tool/tool-set.js'
import { openWorkspace, type Workspace } from '../../../src/workspace/open-workspace.js'
import { detectSandbox } from '../../../src/workspace/sandbox/probe.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'

const found = await detectSandbox({ backend: 'bubblewrap' })
const name =
  found.kind !== 'none' ? 'the sandbox of a call' : `the sandbox of a call (NOT RUN: ${found.reason})`

let base: string
let root: string
const open: Workspace[] = []
beforeEach(async () => {
  base = temporaryDirectory()
  root = join(base, 'work')
  await mkdir(join(root, 'src'), { recursive: true })
})
afterEach(async () => {
  for (const workspace of open.splice(0)) await workspace.close()
})

function workspaceAt(): Workspace {
  const workspace = openWorkspace({
    root,
    sandbox: 'required',
    scratchDir: join(base, 'scratch'),
    ledgerDir: workerLedger,
  })
  open.push(workspace)
  return workspace
}

/** Runs a command through the gate, allowed by every rule, so that only the grant holds it. */
async function run(command: string, ceiling?: RequirementSet): Promise<string> {
  const workspace = workspaceAt()
  const bash = createJsonTool<{ command: string }>({
    name: 'bash',
    description: 'd',
    requires: { shell: [{ cmd: '*' }] },
    parameters: {},
    touches: () => [],
    execute: async (args, { runtime }) => (await runtime?.shell?.run(args.command))?.output,
  })
  const tools = ToolSet.fromTools([bash])
  const authority = createSessionAuthority({
    scope: () => workspace.scope,
    tools: () => tools.values(),
    policy: { allow: ['bash'] },
    ...(ceiling && { ceiling }),
  })
  let ids = 0
  const gate = createGate({
    tools: { get: (tool) => tools.get(tool), names: () => [] },
    authorityFor: (tool) => authority.for(tool),
    runtimeFor: ({ call, authority: own, signal }) =>
      workspace.runtimeFor(permitFor(call, own, true), signal),
    spill: (label, data) => workspace.scratch.write(label, data),
    now: () => performance.now(),
    newId: () => `call-${++ids}`,
  })
  const { envelope } = await gate.call({ name: 'bash', origin: 'host', input: { value: { command } } })
  return envelope.type === 'output' ? String(envelope.data) : envelope.error_text
}

describe.skipIf(found.kind !== 'bubblewrap')(name, () => {
  it('a command can write anywhere in the workspace when nothing narrows the grant', async () => {
    await run('echo x > top; echo y > src/in')
    expect(existsSync(join(root, 'top')) && existsSync(join(root, 'src/in'))).toBe(true)
  })

  it('a path that a ceiling omits is read-only', async () => {
    const ceiling: RequirementSet = {
      fs: { read: ['{workspace}/**'], write: ['{workspace}/src/**'] },
      shell: [{ cmd: '*' }],
    }
    await run(
      `node -e 'try { require("fs").writeFileSync("top", "x") } catch {}'; bash -c "echo y > src/in"`,
      ceiling,
    )
    expect(existsSync(join(root, 'top'))).toBe(false)
    expect(await readFile(join(root, 'src/in'), 'utf8')).toBe('y\n')
  })

  it('a command sees its own scratch directory and no other session’s (SEC-201)', async () => {
    const other = workspaceAt()
    const path = await other.scratch.write('secret', 'OTHER-SESSION')
    const mine = workspaceAt()
    const own = await mine.scratch.write('mine', 'OWN')
    expect((await mine.shell.run(`cat ${own}`)).output).toBe('OWN')
    expect((await mine.shell.run(`cat ${path}`)).output).not.toContain('OTHER-SESSION')
  })

  it('a further root is part of the workspace', async () => {
    const extra = join(base, 'extra')
    await mkdir(extra)
    await writeFile(join(extra, 'a.txt'), 'from extra')
    const workspace = openWorkspace({
      root,
      roots: [extra],
      sandbox: 'required',
      scratchDir: join(base, 'scratch'),
      ledgerDir: workerLedger,
    })
    open.push(workspace)
    expect((await workspace.shell.run('cat a.txt; echo b > b.txt', { cwd: extra })).output).toBe('from extra')
    expect(await workspace.files.readText(join(extra, 'b.txt'))).toBe('b\n')
  })
})
