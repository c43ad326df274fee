/**
 * Without any setting: keys of the configuration are handed out nowhere, and tokens in tool output are not written
 * down.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'

const key = 'key-of-the-provider-0123456789'
/** Put together here, so that no text of this repository looks like a key. */
const token = (prefix: string, length: number) => prefix + 'a1B2c3D4e5F6g7H8i9J0'.repeat(5).slice(0, length)
const tokens = [
  token('sk-', 48),
  token('ghp_', 36),
  token('gho_', 36),
  token('github_pat_', 60),
  `${'AKIA'}ABCDEFGH12345678`,
  token('xoxb-', 40),
  token('AIza', 35),
  token('glpat-', 20),
  token('npm_', 36),
  `eyJ${token('', 30)}.eyJ${token('', 30)}.${token('', 30)}`,
  `-----BEGIN PRIVATE KEY-----\n${'QUJD'.repeat(16)}\n-----END PRIVATE KEY-----`,
  token('', 40),
  token('p4ss', 12),
]
const output = [
  ...tokens.slice(0, -2),
  `Authorization: Bearer ${tokens.at(-2)}`,
  `postgres://admin:${tokens.at(-1)}@db.example/x`,
].join('\n')

it('emits no key and saves no token, while the model reads the output of its tool', async () => {
  const { base, root, userDir } = await makeWorkspace()
  const place = join(base, 'user', 'sessions')
  const store = new FileSessionStore(place)
  const agent = await Agent.create(
    {
      defaultModel: 'openai/m',
      providers: [{ name: 'openai', apiKey: key, baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] }],
    },
    { userDir, env: {} },
  )
  whenDone(() => agent.close())
  const payloads: unknown[] = []
  const see = (payload: unknown): undefined => void payloads.push(payload)
  // The server of a model has the key, and may say it: whole, in pieces, or in another form.
  const forms = [key, Buffer.from(key).toString('base64'), encodeURIComponent(key), JSON.stringify(key)]
  const model = scriptedModel([
    { text: `It is ${key}.`, toolCalls: [{ name: 'show', args: { word: key } }] },
    { text: forms.join(' '), reasoning: key },
  ])
  const session = agent.session(root, {
    sessionId: 's',
    sessionStore: store,
    sandbox: 'off',
    model,
    tools: [
      createJsonTool({
        name: 'show',
        description: 'Shows something.',
        parameters: { type: 'object' },
        execute: () => `${output}\n${key}`,
      }),
    ],
    permissionPolicy: { allow: ['show'] },
    hooks: (
      [
        'pre_prompt',
        'generate_start',
        'generate_end',
        'pre_tool_use',
        'post_tool_use',
        'post_response',
      ] as const
    ).map((event) => ({ id: event, event, handler: see }) as never),
  })
  const events: unknown[] = []
  for await (const event of await session.stream(`My key is ${key}`)) events.push(event)
  await session.save()
  const exported: string[] = []
  for await (const line of agent.exportSession('s', { sessionStore: store })) exported.push(line)
  const seen = {
    history: session.history(),
    messages: session.messages(),
    payloads,
    events,
    traces: session.traceEvents(),
    exported,
    model: model.requests,
  }
  for (const [where, value] of Object.entries(seen)) expect(JSON.stringify(value), where).not.toContain(key)
  expect(payloads.length).toBeGreaterThan(5)
  // The model works with what its tools give it.
  for (const one of tokens)
    expect(JSON.stringify(model.requests[1])).toContain(JSON.stringify(one).slice(1, -1))
  await agent.close()
  const names = await readdir(place, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile())
  const stored = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  )
  for (const one of [...tokens, key, Buffer.from(key).toString('base64').slice(0, 30)]) {
    expect(stored.join(''), 'the store').not.toContain(JSON.stringify(one).slice(1, -1))
    expect(exported.join(''), 'the export').not.toContain(JSON.stringify(one).slice(1, -1))
  }
  expect(stored.join('')).toContain('[REDACTED:GITHUB_TOKEN]')
})

it('saves no token that a tool returns inside an object of a class, in the log or next to it', async () => {
  const { base, root, userDir } = await makeWorkspace()
  const place = join(base, 'user', 'sessions')
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const secret = tokens[1] ?? ''
  class Account {
    readonly token = secret
    readonly text: string

    constructor(text: string) {
      this.text = text
    }
  }
  const toolOf = (name: string, text: string) =>
    createJsonTool({
      name,
      description: 'Shows an account.',
      parameters: { type: 'object', properties: {} },
      limits: { maxBytes: 1_000_000 },
      execute: () => ({ account: new Account(text), url: new URL(`https://me:${secret}@host.example/`) }),
    })
  const session = agent.session(root, {
    sessionId: 's',
    sessionStore: new FileSessionStore(place),
    permissionPolicy: { allow: ['small', 'large'] },
    tools: [toolOf('small', 'x'), toolOf('large', 'x'.repeat(100_000))],
    model: scriptedModel([{ toolCalls: ['small', 'large'].map((name) => ({ name, args: {} })) }, 'Done.']),
  })
  expect((await session.send('Show them.')).text).toBe('Done.')
  await session.close()
  const names = await readdir(place, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  expect(texts.join('\n')).toContain('host.example')
  expect(files.filter((_, at) => texts[at]?.includes(secret))).toEqual([])
})
