import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonValue } from '../../src/tool/json.js'
import { calls, type Opened, openSession, type Script, toolResults } from './open-session.js'
import { byPrompt, call } from './subagents.js'

const limit = 120_000

const open: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' } }
const read = (path = 'a.txt'): [string, JsonValue] => ['read', { file_path: path }]
const write = (content: string, path = 'a.txt'): [string, JsonValue] => [
  'write',
  { file_path: path, content },
]
const edit = (from: string, to: string, path = 'a.txt'): [string, JsonValue] => [
  'edit',
  { file_path: path, old_string: from, new_string: to },
]
const patch: [string, JsonValue] = [
  'patch',
  { diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n' },
]
const run = (command: string): [string, JsonValue] => ['bash', { command }]
const lines = 'one\ntwo\n'
const renaming = 'diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n'
const stale = /has changed since you last read or wrote it.*Read it again/s

/** Runs one round for each call, the last of which is looked at. */
async function rounds(
  steps: readonly [string, JsonValue][],
  options: SessionOptions = {},
): Promise<Opened & { last: string; text: string }> {
  const opened = await openSession(
    [...steps.map((step) => calls(step)), 'done'],
    { ...open, ...options },
    { 'a.txt': lines },
  )
  await opened.session.send('go')
  const last = toolResults(opened.server, steps.length).at(-1) ?? ''
  return { ...opened, last, text: await readFile(join(opened.root, 'a.txt'), 'utf8').catch(() => '') }
}

describe('a write of the model to a file that changed since it was read', { timeout: limit }, () => {
  it.each<[string, [string, JsonValue]]>([
    ['write', write('new')],
    ['edit', edit('two', 'three')],
    ['patch', patch],
    [
      'a patch that removes it',
      ['patch', { diff: '--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-more\n' }],
    ],
    ['a patch that renames it', ['patch', { diff: renaming }]],
    ['write by another spelling', write('new', './x/../a.txt')],
  ])('is refused: %s', async (_, change) => {
    const { last, text } = await rounds([read(), run('echo more >> a.txt'), change])
    expect(last).toMatch(stale)
    expect(text).toBe(`${lines}more\n`)
  })

  it('is refused when the content changed and size and time did not', async () => {
    const { last } = await rounds([
      read(),
      run('touch -r a.txt t; printf "uno\\ntwo\\n" > a.txt; touch -r t a.txt'),
      edit('two', 'three'),
    ])
    expect(last).toMatch(stale)
  })

  it('is allowed when the content is the same again', async () => {
    const { last, text } = await rounds([
      read(),
      run('cp a.txt b; echo x > a.txt; mv b a.txt; touch a.txt'),
      write('new'),
    ])
    expect(last).toContain('Wrote')
    expect(text).toBe('new')
  })

  it('is allowed after it was read again, also in part', async () => {
    const again: [string, JsonValue] = ['read', { file_path: 'a.txt', limit: 1 }]
    const { last } = await rounds([read(), run('echo more >> a.txt'), again, edit('two', 'three')])
    expect(last).toContain('Replaced 1')
  })

  it('is refused after a write of its own too, and through a link', async () => {
    expect((await rounds([write('one'), run('echo x > a.txt'), write('two')])).last).toMatch(stale)
    const linked = await openSession(
      [calls(read('link')), calls(run('echo x > a.txt')), calls(write('new')), 'done'],
      open,
      { 'a.txt': lines },
    )
    await symlink('a.txt', join(linked.root, 'link'))
    await linked.session.send('go')
    expect(toolResults(linked.server, 3).at(-1)).toMatch(stale)
  })

  it('is refused when the user, the host, a subagent, another tool or an undo changed it', async () => {
    const other = createJsonTool({
      name: 'stamp',
      description: 'Stamps a file.',
      parameters: {},
      requires: { fs: { write: ['{workspace}/**'] } },
      touches: () => [{ fs: 'write', path: 'a.txt' }],
      execute: async (_args, { runtime }) => (await runtime?.files?.write('a.txt', 'stamped'))?.path ?? '',
    })
    expect((await rounds([read(), ['stamp', {}], write('new')], { tools: [other] })).last).toMatch(stale)

    for (const change of [
      ({ root }: Opened) => writeFile(join(root, 'a.txt'), 'by the user'),
      ({ session }: Opened) => session.writeFile('a.txt', 'by the host'),
      ({ session }: Opened) => session.undo(),
    ]) {
      const opened = await openSession(
        [calls(read()), calls(write('first')), 'done', calls(write('second')), 'done'],
        open,
        { 'a.txt': lines },
      )
      await opened.session.send('go')
      await change(opened)
      await opened.session.send('again')
      expect(toolResults(opened.server, 4).at(-1)).toMatch(stale)
    }

    const model = byPrompt(({ prompt, turn, results }) => {
      if (prompt === 'child')
        return turn === 0 ? call('write', { file_path: 'a.txt', content: 'by the child' }) : 'done'
      if (turn === 0) return call('read', { file_path: 'a.txt' })
      if (turn === 1) return call('task', { agent: 'general', prompt: 'child' })
      return turn === 2 ? call('write', { file_path: 'a.txt', content: 'x' }) : (results.at(-1) ?? '')
    })
    const { session } = await openSession([], { ...open, model }, { 'a.txt': lines })
    expect((await session.send('go')).text).toMatch(stale)
  })

  it('is allowed for large files that were read in part, and refused when another part changed', async () => {
    const big = Array.from({ length: 60_000 }, (_, at) => `line ${at}`).join('\n')
    for (const [command, expected] of [
      ['true', 'Replaced 1'],
      ['echo more >> a.txt', stale],
    ] as const) {
      const opened = await openSession(
        [calls(read()), calls(run(command)), calls(edit('line 7\n', 'seven\n')), 'done'],
        open,
        { 'a.txt': big },
      )
      await opened.session.send('go')
      expect(toolResults(opened.server, 3).at(-1)).toMatch(expected)
    }
  })
})

describe('a write of the model that loses nothing', { timeout: limit }, () => {
  it('is allowed for a file that was never read, for a deleted one, and for its own work', async () => {
    expect((await rounds([write('new')])).text).toBe('new')
    expect((await rounds([run('echo x >> a.txt'), write('new')])).text).toBe('new')
    expect((await rounds([read(), run('rm a.txt'), write('new')])).text).toBe('new')
    expect((await rounds([write('one'), write('two'), edit('two', 'three'), write('four')])).text).toBe(
      'four',
    )
    expect(
      (await rounds([read(), edit('two', 'three'), edit('three', 'four'), edit('one', 'uno')])).text,
    ).toBe('uno\nfour\n')
  })

  it('is allowed for several changes of one file in one answer, also in a batch', async () => {
    const edits = [edit('one', 'uno'), edit('two', 'dos'), edit('uno', 'ein')]
    for (const script of [
      [calls(read()), calls(...edits), 'done'],
      [calls(read(), ...edits), 'done'],
      [
        calls(read()),
        calls([
          'batch',
          { invocations: edits.map(([tool, args]) => ({ tool, args })), max_concurrency: 1 } as JsonValue,
        ]),
        'done',
      ],
    ] as Script[]) {
      const { session, root } = await openSession(script, open, { 'a.txt': lines })
      await session.send('go')
      expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('ein\ndos\n')
    }
  })

  it('follows a file that the model renames', async () => {
    const rename: [string, JsonValue] = ['patch', { diff: renaming }]
    expect((await rounds([read(), rename, edit('two', 'three', 'b.txt')])).last).toContain('Replaced 1')
    expect(
      (await rounds([read(), rename, run('echo x >> b.txt'), edit('two', 'three', 'b.txt')])).last,
    ).toMatch(stale)
  })
})

describe('the options of the stale-write check', { timeout: limit }, () => {
  it('turn it off', async () => {
    const { text } = await rounds([read(), run('echo more >> a.txt'), write('new')], {
      staleWriteCheck: false,
    })
    expect(text).toBe('new')
  })

  it('require a file to be read before it is changed, and allow new ones', async () => {
    const required = { requireReadBeforeWrite: true }
    for (const change of [write('new'), edit('two', 'three'), patch]) {
      const { last, text } = await rounds([change], required)
      expect(last).toMatch(/you have not read it.*Read it first/s)
      expect(text).toBe(lines)
    }
    expect((await rounds([read(), write('new')], required)).text).toBe('new')
    expect((await rounds([write('made', 'b.txt'), write('again', 'b.txt')], required)).last).toContain(
      'Wrote',
    )
    expect((await rounds([run('cat a.txt'), write('new')], required)).last).toContain('you have not read it')
  })

  it('apply to a tool that is removed while it runs', async () => {
    const remover = createJsonTool({
      name: 'remover',
      description: 'd',
      kind: 'edit',
      requires: { fs: { write: ['{workspace}/**'] } },
      parameters: { type: 'object' },
      execute: async (_, { runtime }) => {
        opened.session.unregisterTool('remover')
        await runtime?.files?.write('a.txt', 'new')
      },
    })
    const opened = await openSession(
      [calls(['remover', {}]), 'done'],
      { ...open, tools: [remover], requireReadBeforeWrite: true },
      { 'a.txt': lines },
    )
    await opened.session.send('go')
    expect(toolResults(opened.server, 1)[0]).toContain('you have not read it')
    expect(await readFile(join(opened.root, 'a.txt'), 'utf8')).toBe(lines)
  })

  it('are validated', async () => {
    await expect(openSession([], { staleWriteCheck: 'no' } as never)).rejects.toThrow('staleWriteCheck')
    await expect(openSession([], { requireReadBeforeWrite: 1 } as never)).rejects.toThrow(
      'requireReadBeforeWrite',
    )
  })
})

/** Waits until a read of the file is safely later than its last change, also where only whole seconds are stored. */
async function isDatedBeforeNow(path: string): Promise<void> {
  const { ctimeMs } = await stat(path)
  const dateError = ctimeMs % 1_000 === 0 ? 2_000 : 50
  while (Date.now() <= ctimeMs + dateError) await pause(5)
}

describe('a resumed session', { timeout: limit }, () => {
  async function resumed(
    between: (root: string) => Promise<unknown>,
    before: [string, JsonValue][],
    options: SessionOptions = {},
  ): Promise<string> {
    const sessionStore = new MemorySessionStore()
    const script = [...before.map((step) => calls(step)), 'done', calls(write('new')), 'done']
    const { session, agent, server, root } = await openSession(
      script,
      { ...open, ...options, sessionStore, sessionId: 's' },
      { 'a.txt': lines },
    )
    await isDatedBeforeNow(join(root, 'a.txt'))
    await session.send('go')
    await session.close()
    await between(root)
    const again = agent.resumeSession('s', { ...open, sessionStore, sandbox: 'off' })
    await again.send('again')
    return toolResults(server, before.length + 2).at(-1) ?? ''
  }

  it('refuses a write to a file that changed while it was closed', async () => {
    const change = (root: string): Promise<void> => writeFile(join(root, 'a.txt'), 'by the user')
    expect(await resumed(change, [read()])).toMatch(stale)
    expect(await resumed(change, [write('mine')])).toMatch(stale)
  })

  it('refuses a write to a file that changed right after it was read, when the clock of the system is late', async () => {
    const change = (root: string): Promise<void> => writeFile(join(root, 'a.txt'), 'by the user')
    // The system dates changes by a clock that advances every few milliseconds.
    const hostEnv = { clock: { now: () => Date.now() + 10 } }
    for (let time = 0; time < 5; time++) expect(await resumed(change, [read()], { hostEnv })).toMatch(stale)
  })

  it('writes files that are unchanged since the model’s last access, and deleted files', async () => {
    const nothing = async (): Promise<void> => undefined
    expect(await resumed(nothing, [read()])).toContain('Wrote')
    expect(await resumed(nothing, [read(), write('mine')])).toContain('Wrote')
    expect(await resumed((root) => rm(join(root, 'a.txt')), [read()])).toContain('Wrote')
  })
})
