import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AskAnswer } from '../../src/loop/ask.js'
import type { SessionOptions } from '../../src/session/options.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { startGitServer } from './git-server.js'
import {
  calls,
  makeRepository,
  makeWorkspace,
  openSession,
  shownTools,
  toolResults,
  whenDone,
  writeFiles,
} from './open-session.js'

const names = ['repo_overview', 'repo_clone', 'apply_patch', 'plan', 'plan_exit']
const open: SessionOptions = { extensionTools: true, permissionPolicy: { defaultDecision: 'allow' } }

describe('extension tools', () => {
  it('are off unless the session enables them', async () => {
    const { session, server } = await openSession([calls(['apply_patch', { patch: '' }]), 'done'])
    for (const name of names) expect(session.toolNames()).not.toContain(name)
    await session.send('go')
    expect(toolResults(server, 1)[0]).toContain('Unknown tool "apply_patch"')
  })

  it('are enabled all together, or by name', async () => {
    const { session, server } = await openSession(['done'], { extensionTools: true })
    expect(session.toolNames()).toEqual(expect.arrayContaining(names))
    await session.send('go')
    expect(shownTools(server, 0)).toEqual(expect.arrayContaining(names))
    const { session: some } = await openSession([], {
      extensionTools: ['apply_patch'],
      builtinTools: ['read'],
    })
    expect(some.toolNames()).toEqual(['read', 'apply_patch'])
  })

  it('and built-in tools are those that were named when the session was opened', async () => {
    const [builtinTools, extensionTools] = [['read'], ['apply_patch']]
    const { session } = await openSession([], { builtinTools, extensionTools })
    builtinTools.push('bash')
    extensionTools.push('repo_clone')
    expect(session.toolNames()).toEqual(['read', 'apply_patch'])
  })

  it('are rejected by an unknown name', async () => {
    await expect(openSession([], { extensionTools: ['aply_patch'] })).rejects.toThrow(
      /Did you mean.*apply_patch/,
    )
    await expect(openSession([], { extensionTools: 'all' as never })).rejects.toThrow(/extensionTools/)
  })

  it('are not restored from a log, which cannot add tools', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    const sessionStore = new MemorySessionStore()
    const model = scriptedModel(['aye', 'aye'])
    const first = agent.session(root, { sessionId: 's', sessionStore, model, extensionTools: true })
    await first.send('go')
    await first.close()
    const again = agent.resumeSession('s', { sessionStore, model })
    expect(again.toolNames()).not.toContain('repo_clone')
    expect(again.initWarning).toContain('extensionTools')
  })

  it('can be enabled in the configuration, and a session can turn them off', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create('extension_tools = ["repo_overview", "apply_patch"]', {
      userDir,
      env: {},
    })
    whenDone(() => agent.close())
    expect(agent.session(root).toolNames()).toEqual(expect.arrayContaining(['repo_overview', 'apply_patch']))
    expect(agent.session(root).toolNames()).not.toContain('repo_clone')
    expect(agent.session(root, { extensionTools: false }).toolNames()).not.toContain('apply_patch')
    const all = await Agent.create({ extensionTools: true }, { userDir, env: {} })
    whenDone(() => all.close())
    expect(all.session(root).toolNames()).toEqual(expect.arrayContaining(names))
    await expect(Agent.create('extension_tools = ["lsp"]', { userDir, env: {} })).rejects.toThrow(
      /repo_overview/,
    )
  })
})

describe('repo_overview', () => {
  const files = {
    'src/a.ts': 'x'.repeat(600),
    'src/deep/er/b.ts': 'x'.repeat(100),
    'tools/run.py': 'x'.repeat(300),
    'README.md': '# a',
    'data.bin': 'x',
    '.gitignore': 'ignored/\n',
    'ignored/c.ts': 'x'.repeat(9_000),
    'secret/key.ts': 'x'.repeat(9_000),
  }

  it('returns the tree and the languages, without ignored and denied files', async () => {
    const { session, root } = await openSession(
      [],
      { ...open, permissionPolicy: { allow: ['repo_overview'], deny: ['read(secret/**)'] } },
      files,
    )
    makeRepository(root)
    const { envelope } = await session.tool('repo_overview', {})
    const { languages, tree, files: count } = (envelope as { data: Overview }).data
    expect(languages.slice(0, 2)).toEqual([
      expect.objectContaining({ language: 'TypeScript' }),
      expect.objectContaining({ language: 'Python', files: 1, bytes: 300 }),
    ])
    expect(tree).toContain('src/ (2 files)\n  deep/ (1 files)\n    er/ (1 files)\n  a.ts')
    expect(tree).not.toContain('ignored')
    expect(count).toBeGreaterThan(4)
  })

  it('called by a model, hides denied files', async () => {
    const { session, server } = await openSession(
      [calls(['repo_overview', {}], ['repo_overview', { path: 'src', depth: 1 }]), 'done'],
      { ...open, permissionPolicy: { defaultDecision: 'allow', deny: ['read(secret/**)'] } },
      files,
    )
    await session.send('go')
    const [whole = '', inner = ''] = toolResults(server, 1)
    expect(whole).not.toContain('key.ts')
    expect(JSON.parse(inner).tree).toBe('deep/ (1 files)\na.ts')
  })

  it('is limited to the workspace', async () => {
    const { session } = await openSession([], open, files)
    for (const path of ['..', '/etc', 'src/../..'])
      expect(await session.tool('repo_overview', { path })).toMatchObject({ exitCode: 1 })
  })
})

type Overview = { languages: object[]; tree: string; files: number }

describe('apply_patch', () => {
  const files = { 'a.txt': 'one\ntwo\n', 'b.txt': 'three\n', 'c.txt': 'gone\n' }
  const patch = [
    '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n',
    '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-three\n+THREE\n',
    '--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n',
    '--- /dev/null\n+++ b/d/new.txt\n@@ -0,0 +1 @@\n+new\n',
  ].join('')
  const text = (root: string, path: string) => readFile(join(root, path), 'utf8')

  it('changes several files together', async () => {
    const { session, root } = await openSession([calls(['apply_patch', { patch }]), 'done'], open, files)
    await session.send('go')
    expect(await text(root, 'a.txt')).toBe('one\nTWO\n')
    expect(await text(root, 'b.txt')).toBe('THREE\n')
    expect(existsSync(join(root, 'c.txt'))).toBe(false)
    expect(await text(root, 'd/new.txt')).toBe('new\n')
  })

  it('changes no file when one hunk does not match', async () => {
    const { session, root } = await openSession([], open, files)
    const bad = patch.replace('-three', '-other')
    expect(await session.tool('apply_patch', { patch: bad })).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('No file was changed'),
    })
    expect(await text(root, 'a.txt')).toBe('one\ntwo\n')
    expect(existsSync(join(root, 'd'))).toBe(false)
  })

  it.each([
    ['outside the workspace', '--- /dev/null\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+x\n', {}],
    ['that a rule denies', patch, { deny: ['fs.write(b.txt)'] }],
    ['that a rule for write denies', patch, { deny: ['write(b.txt)'] }],
    ['that decide what runs', '--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n', {}],
  ])('is rejected as a whole for paths %s', async (_, given, policy) => {
    const { session, server, root } = await openSession(
      [calls(['apply_patch', { patch: given }]), 'done'],
      { ...open, permissionPolicy: { defaultDecision: 'allow', ...policy } },
      files,
    )
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(/^Error: /)
    expect(await text(root, 'a.txt')).toBe('one\ntwo\n')
    expect((await readdir(join(root, '..'))).includes('out.txt')).toBe(false)
  })

  it('describes what it accepts', async () => {
    const { session } = await openSession([], open, files)
    expect(await session.tool('apply_patch', { diff: patch })).toMatchObject({ exitCode: 0 })
    for (const args of [{}, { patch, diff: patch }, { patch: '*** Begin Patch\n*** End Patch' }])
      expect(await session.tool('apply_patch', args)).toMatchObject({ exitCode: 1 })
  })
})

describe('plan and plan_exit', () => {
  const write = ['write', { file_path: 'a.txt', content: 'x' }] as [
    string,
    { file_path: string; content: string },
  ]

  async function planning(decisions: Record<string, AskAnswer['decision']>, mode?: SessionOptions['mode']) {
    const asked: string[] = []
    const opened = await openSession(
      [
        calls(['plan', {}]),
        calls(write),
        calls(['plan_exit', { plan: 'First write a.txt.' }]),
        calls(write),
        'done',
      ],
      {
        extensionTools: true,
        permissionPolicy: { defaultDecision: 'allow' },
        ...(mode !== undefined && { mode }),
        onAsk: ({ toolName, reasons }) => {
          asked.push(`${toolName}: ${reasons.join(' ')}`)
          return { decision: decisions[toolName] ?? 'reject' }
        },
      },
    )
    await opened.session.send('go')
    return { asked, results: toolResults(opened.server, 4), ...opened }
  }

  it('prevent changes by the model until the user has approved the plan', async () => {
    const { results, asked, root } = await planning({ plan_exit: 'once' })
    expect(results[1]).toContain('the mode "plan"')
    expect(results[2]).toContain('approved the plan')
    expect(results[3]).toContain('Wrote 1 bytes')
    expect(asked).toContainEqual(expect.stringContaining('First write a.txt.'))
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('x')
  })

  it('keep the mode when the user does not approve', async () => {
    const { results, root } = await planning({ plan_exit: 'reject' })
    expect(results[2]).toMatch(/reject|refused|denied/i)
    expect(results[3]).toContain('the mode "plan"')
    expect(existsSync(join(root, 'a.txt'))).toBe(false)
  })

  it('end planning that the host started, only after approval', async () => {
    const { results } = await planning({ plan_exit: 'once' }, 'plan')
    expect(results[0]).toContain('planning already')
    expect(results[3]).toContain('Wrote 1 bytes')
    const refused = await planning({ plan_exit: 'reject' }, 'plan')
    expect(refused.results[3]).toContain('the mode "plan"')
  })

  it('restore at most the previous mode', async () => {
    const { results } = await planning({ plan_exit: 'once' }, 'read-only')
    expect(results[3]).toContain('the mode "read-only"')
  })

  it('do not restore a mode from before one that the host set', async () => {
    const { session, server } = await openSession(
      [calls(['plan', {}]), 'planned', calls(['plan_exit', { plan: 'x' }]), calls(write), 'done'],
      {
        ...open,
        permissionPolicy: { defaultDecision: 'deny', allow: ['plan', 'plan_exit'] },
        mode: 'full',
        onAsk: () => ({ decision: 'once' }),
      },
    )
    await session.send('go')
    await session.setMode('read-only')
    await session.setMode('plan')
    await session.send('on')
    expect(toolResults(server, 4).at(-1)).toMatch(/^Error: Refused/)
  })

  it('are not approved by a policy that answers in place of the user', async () => {
    const { session, server } = await openSession(
      [calls(['plan_exit', { plan: 'x' }]), calls(write), 'done'],
      {
        ...open,
        mode: 'plan',
        confirmationPolicy: {
          enabled: true,
          defaultTimeoutMs: 1,
          timeoutAction: 'auto_approve',
          yoloLanes: ['control', 'query', 'execute', 'generate'],
        },
      },
    )
    await session.send('go')
    expect(toolResults(server, 2)[1]).toContain('the mode "plan"')
  })

  it('are rejected when there is no user to approve', async () => {
    const { session, server } = await openSession(
      [calls(['plan', {}]), calls(['plan_exit', { plan: 'x' }]), 'done'],
      open,
    )
    await session.send('go')
    expect(toolResults(server, 2)[0]).toContain('No user can approve a plan')
    const { session: planned, server: other } = await openSession(
      [calls(['plan_exit', { plan: 'x' }]), calls(write), 'done'],
      { ...open, mode: 'plan' },
    )
    await planned.send('go')
    expect(toolResults(other, 2)[0]).toMatch(/^Error: .*No user can be asked/s)
    expect(toolResults(other, 2)[1]).toContain('the mode "plan"')
  })
})

describe('repo_clone', () => {
  async function remote() {
    const repository = join(temporaryDirectory(), 'project')
    await mkdir(repository)
    await writeFiles(repository, { 'a.txt': 'cloned\n', '.gitattributes': '* filter=evil\n' })
    await symlink('/etc/passwd', join(repository, 'link'))
    makeRepository(repository)
    await writeFile(join(repository, 'b.txt'), 'second\n')
    const commit = ['-c', 'user.name=t', '-c', 'user.email=t@example.test', 'commit', '-q', '-m', 'second']
    execFileSync('git', ['add', '-A'], { cwd: repository })
    execFileSync('git', commit, { cwd: repository })
    return startGitServer(repository)
  }
  const network = { allowPrivate: true }

  it('clones the latest commit into a new directory', async () => {
    const server = await remote()
    const url = `${server.url}/project.git`
    const {
      session,
      root,
      server: model,
    } = await openSession(
      [calls(['repo_clone', { url }], ['repo_clone', { url, path: 'vendor/other', branch: 'main' }]), 'done'],
      { ...open, network },
    )
    await session.send('go')
    expect(toolResults(model, 1)).toEqual([`Cloned ${url} into project.`, `Cloned ${url} into vendor/other.`])
    expect(await readFile(join(root, 'project/a.txt'), 'utf8')).toBe('cloned\n')
    expect(await readFile(join(root, 'vendor/other/b.txt'), 'utf8')).toBe('second\n')
    expect(existsSync(join(root, 'project/.git/shallow'))).toBe(true)
    expect((await readdir(join(root, 'project/.git/hooks')).catch(() => [])).length).toBe(0)
    expect(await session.tool('repo_clone', { url })).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('exists already'),
    })
  })

  it.each([
    'ext::sh -c touch% pwned',
    'file:///etc',
    '/etc',
    '../other',
    'ssh://git@example.test/a.git',
    'git@example.test:a.git',
    'git://example.test/a.git',
    'fd::3',
    'http::ext::sh',
    '--upload-pack=touch pwned',
    '-oProxyCommand=x',
    'https://user:secret@example.test/a.git',
    'https://example.test/a.git?x=1',
    'https://example.test/a.git#x',
    'javascript:1',
  ])('accepts only http and https addresses: %s', async (url) => {
    const { session } = await openSession([], { ...open, network })
    const { exitCode, output } = await session.tool('repo_clone', { url, path: 'x' })
    expect(exitCode).toBe(1)
    expect(output).not.toContain('secret')
  })

  it.each(['..', '../out', '/tmp/out', '.git', 'a/.git/b', '-x', '', '.', 'a/../../b', '.GIT'])(
    'creates no directory outside the workspace, and none of git: %j',
    async (path) => {
      const server = await remote()
      const { session, root } = await openSession([], { ...open, network })
      const { exitCode } = await session.tool('repo_clone', { url: `${server.url}/project.git`, path })
      expect(exitCode).toBe(1)
      expect(server.asked).toEqual([])
      expect(await readdir(root)).toEqual([])
    },
  )

  it('is refused for private addresses, denied hosts, redirects and private repositories', async () => {
    const server = await remote()
    const url = `${server.url}/project.git`
    const { session: plain } = await openSession([], open)
    expect(await plain.tool('repo_clone', { url })).toMatchObject({ exitCode: 1 })
    expect(server.asked).toEqual([])
    const { session, server: model } = await openSession([calls(['repo_clone', { url }]), 'done'], {
      ...open,
      network,
      permissionPolicy: { defaultDecision: 'allow', deny: [`net.fetch(127.0.0.1:${server.port})`] },
    })
    await session.send('go')
    expect(toolResults(model, 1)[0]).toContain('Refused')
    expect(server.asked).toEqual([])
    const { session: moving, root } = await openSession([], { ...open, network })
    expect((await moving.tool('repo_clone', { url: `${server.url}/moved.git` })).output).toContain(
      `The repository has moved: clone \\"${url}\\"`.replaceAll('\\', ''),
    )
    expect((await moving.tool('repo_clone', { url: `${server.url}/private.git` })).output).toContain(
      'no public',
    )
    expect((await moving.tool('repo_clone', { url: `${server.url}/none.git` })).output).toContain('no public')
    expect(server.asked.filter((line) => line.startsWith('POST'))).toEqual([])
    expect(await readdir(root)).toEqual([])
  })

  it('is asked about when the rules ask, with host, command and directory', async () => {
    const server = await remote()
    const seen: unknown[] = []
    const { session, root } = await openSession(
      [calls(['repo_clone', { url: `${server.url}/project.git` }]), 'done'],
      {
        extensionTools: true,
        network,
        onAsk: (ask) => {
          seen.push(ask.toolName)
          return { decision: 'reject' }
        },
      },
    )
    await session.send('go')
    expect(seen).toEqual(['repo_clone'])
    expect(await readdir(root)).toEqual([])
  })

  it('starts no program that the configuration of the workspace, the user or the repository names', async () => {
    const server = await remote()
    const home = temporaryDirectory()
    const evil = join(home, 'evil.sh')
    await writeFile(evil, `#!/bin/sh\ntouch ${join(home, 'pwned')}\ncat\n`)
    await chmod(evil, 0o755)
    const config = [
      `[core]\n\thooksPath = ${home}\n\tfsmonitor = ${evil}\n\tsshCommand = ${evil}\n`,
      `[filter "evil"]\n\tsmudge = ${evil}\n\tclean = ${evil}\n\trequired = true\n`,
      `[credential]\n\thelper = ${evil}\n[init]\n\ttemplateDir = ${home}/template\n`,
      `[url "ext::${evil} "]\n\tinsteadOf = http\n[http]\n\tproxy = http://127.0.0.1:9\n`,
    ].join('')
    await writeFiles(home, { '.gitconfig': config, 'template/hooks/post-checkout': `#!/bin/sh\n${evil}\n` })
    await chmod(join(home, 'template/hooks/post-checkout'), 0o755)
    await writeFile(join(home, 'post-checkout'), `#!/bin/sh\n${evil}\n`, { mode: 0o755 })
    const { session, root } = await openSession(
      [],
      {
        ...open,
        network,
        env: { HOME: home, XDG_CONFIG_HOME: home, GIT_TEMPLATE_DIR: join(home, 'template') },
      },
      { 'own.txt': 'x' },
    )
    makeRepository(root)
    await writeFile(
      join(root, '.git/config'),
      `${await readFile(join(root, '.git/config'), 'utf8')}${config}`,
    )
    const { output, exitCode } = await session.tool('repo_clone', { url: `${server.url}/project.git` })
    expect([exitCode, output]).toEqual([0, expect.stringContaining('Cloned')])
    expect(existsSync(join(home, 'pwned'))).toBe(false)
    expect(await readdir(join(root, 'project'))).toEqual(expect.arrayContaining(['a.txt', 'b.txt']))
  })
})
