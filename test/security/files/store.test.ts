/**
 * A session store inside the workspace is closed to the tools and commands of sessions, with and without a sandbox,
 * like `.git`.
 */
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { SessionOptions } from '../../../src/session/options.js'
import { FileSessionStore } from '../../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../../src/store/session-store.js'
import { SqliteSessionStore } from '../../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/scripted-model.js'
import type { JsonObject } from '../../../src/tool/json.js'
import { makeWorkspace, whenDone } from '../../contract/open-session.js'

const mark = 'FORGED-RECORD'
const secret = 'WHAT-WAS-SAID'

type Place = { readonly root: string; readonly store: SessionStore; readonly file: string }
const stores: readonly [string, (root: string) => Omit<Place, 'root'>][] = [
  [
    'file',
    (root) => ({
      store: new FileSessionStore(join(root, 'data', 'sessions')),
      file: 'data/sessions/victim/log.jsonl',
    }),
  ],
  [
    'sqlite',
    (root) => ({ store: new SqliteSessionStore(join(root, 'data', 'all.db')), file: 'data/all.db' }),
  ],
]

/** A model that makes these calls one after the other, and a session that allows everything. */
async function attack(
  openStore: (root: string) => Omit<Place, 'root'>,
  calls: (place: Place) => readonly (readonly [string, JsonObject])[],
  options: SessionOptions,
): Promise<{ readonly answers: readonly string[]; readonly stored: string; readonly root: string }> {
  const { root, userDir } = await makeWorkspace({ 'a.txt': 'one\n' })
  await mkdir(join(root, 'data'))
  const { store, file } = openStore(root)
  const place = { root, store, file }
  await symlink(join(root, 'data'), join(root, 'way'))
  await symlink(join(root, file), join(root, 'link'))
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const steps = calls(place).map(
    ([name, args], at): ScriptedStep => ({ toolCalls: [{ id: `c${at}`, name, args }] }),
  )
  const session = agent.session(root, {
    sessionId: 'victim',
    sessionStore: store,
    maxToolRounds: 200,
    duplicateToolCallThreshold: 100,
    mode: 'full',
    onAsk: () => ({ decision: 'once' }),
    model: scriptedModel([...steps, 'done']),
    ...options,
  })
  await session.send(secret)
  const answers = session.history().flatMap(({ role, content }) => {
    return role === 'tool' ? content.map((part) => JSON.stringify(part)) : []
  })
  await session.close()
  const records = (await store.read('victim'))?.records ?? []
  // What the model said is in the log as well: only what is not part of a call counts.
  const others = records.filter(({ type, data }) => {
    const text = JSON.stringify(data)
    return type === 'session' || (text.includes('"role"') && text.includes(mark))
  })
  await store.close?.()
  return { answers, stored: JSON.stringify(others), root }
}

const fileTools = ({ file }: Place): readonly (readonly [string, JsonObject])[] => {
  const directory = file.split('/').slice(0, -1).join('/')
  const names = [file, 'link', file.replace('data', 'way'), `./data/../${file}`, file.toUpperCase()]
  return [
    ...names.flatMap((path): [string, JsonObject][] => [
      ['write', { file_path: path, content: `{"type":"session","data":{"id":"${mark}"}}\n` }],
      ['edit', { file_path: path, old_string: 'session', new_string: mark }],
      ['read', { file_path: path }],
    ]),
    [
      'write',
      { file_path: `${directory}/${file.includes('.db') ? 'all.db-journal' : 'new.jsonl'}`, content: mark },
    ],
    ['grep', { pattern: secret, path: file }],
    ['grep', { pattern: secret, path: '.' }],
    ['grep', { pattern: secret, path: 'way' }],
    ['patch', { diff: `--- a/${file}\n+++ b/${file}\n@@ -1 +1 @@\n-x\n+${mark}\n` }],
  ]
}

const commands = ({ file, root }: Place): readonly string[] => [
  `cat ${file}`,
  `cat ${join(root, file)}`,
  `echo '${mark}' >> ${file}`,
  `echo '${mark}' | tee -a ${file}`,
  `cd data && cat ${file.slice('data/'.length)}`,
  `cp a.txt ${file}`,
  `mv ${file} b.txt`,
  `rm -f ${file}`,
  `sed -i s/session/${mark}/ ${file}`,
  `ln ${file} hard`,
  `dd if=a.txt of=${file}`,
  `{ echo ${mark}; } >> ${file}`,
  `cat < ${file}`,
  `truncate -s 0 ${file}`,
  `cat "${file}"`,
  `cat link`,
  `cat ${file.replace('data', 'way')}`,
  `cat ${file.replace(/log[^/]*$/, '*')}`,
]

describe.each(stores)('a store "%s" inside the workspace', (backend, openStore) => {
  it('is refused to every file tool, in any spelling and through links', async () => {
    const { answers, stored } = await attack(openStore, fileTools, { sandbox: 'off' })
    expect(answers.length).toBeGreaterThan(15)
    expect(stored).not.toContain(mark)
    for (const answer of answers) expect(answer).not.toContain('"log.jsonl"')
    expect(answers.filter((answer) => answer.includes(secret) && !answer.includes('pattern'))).toEqual([])
    const refused = answers.filter((answer) => answer.includes('sessions are stored there'))
    expect(refused.length).toBeGreaterThanOrEqual(10)
  })

  it('is refused to every command that names it when there is no sandbox', async () => {
    const { answers, stored, root } = await attack(
      openStore,
      (place) => commands(place).map((command) => ['bash', { command }] as const),
      { sandbox: 'off' },
    )
    expect(stored).not.toContain(mark)
    const passed = answers.filter((answer) => !answer.includes('"isError":true'))
    expect(passed).toEqual([])
    expect(await readdir(root)).not.toContain('hard')
  })

  it('does not exist for commands in a sandbox, by any name', async () => {
    const hidden = backend === 'file' ? 'sess' : 'all'
    const { answers, stored } = await attack(
      openStore,
      () => [
        [
          'bash',
          {
            command: `python3 -c "import os,glob;[open(p,'a').write('${mark}') for p in glob.glob('da'+'ta/**',recursive=True) if os.path.isfile(p)]"; echo over`,
          },
        ],
        ['bash', { command: `d=da; for f in $(find \${d}ta -type f); do cat $f; done; echo over` }],
        [
          'bash',
          {
            command: `d=da; grep -r ${secret.slice(0, 6)} \${d}ta; mv \${d}ta/${hidden}* x; ls -la; echo over`,
          },
        ],
      ],
      { sandbox: 'required' },
    )
    expect(answers.filter((answer) => answer.includes('over'))).toHaveLength(3)
    expect(stored).not.toContain(mark)
    expect(answers.join('')).not.toContain(secret)
  })
})

it('a store that contains the workspace is reported, because it cannot be protected', async () => {
  const { root, userDir } = await makeWorkspace({ 'a.txt': 'one\n' })
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const session = agent.session(root, {
    sessionId: 's',
    sessionStore: new FileSessionStore(root),
    sandbox: 'off',
    model: scriptedModel([{ toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }, 'done']),
  })
  const notices: string[] = []
  for await (const event of await session.stream('go')) {
    if (event.type === 'notice') notices.push(event.message)
  }
  expect(notices.join('\n')).toMatch(/Store sessions in a directory of their own/)
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\n')
})
