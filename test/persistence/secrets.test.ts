/** What must never be on disk is not there: neither in the log nor next to it. And what is large is there once. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { DefaultSecurityProvider } from '../../src/session/security/index.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { recordsOf, stateOf } from './kept.js'

const key = 'key-of-the-provider-0123456789'
const named = 'hunter2-named-secret-9876543210'
const sessionId = 'kept'
/** Nothing is too long for it. */
const spacious = (script: (ScriptedStep | string)[]): ReturnType<typeof scriptedModel> =>
  scriptedModel(script, { facts: { contextTokens: 10_000_000 } })

async function bytesUnder(directory: string): Promise<Buffer> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((name) => name.isFile())
  return Buffer.concat(
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
  )
}

const stores: [string, (place: string) => SessionStore][] = [
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(join(place, 'all.db'))],
]

describe.each(stores)('with the store "%s"', (_, openStore) => {
  async function open(
    tools: Parameters<typeof createJsonTool>[0][],
    model: ReturnType<typeof scriptedModel>,
  ) {
    const { base, root, userDir } = await makeWorkspace({ 'env.txt': `KEY=${key}\nOTHER=${named}\n` })
    const place = join(base, 'user', 'sessions')
    const store = openStore(place)
    const provider = new DefaultSecurityProvider()
    provider.addSecret(named)
    const agent = await Agent.create(
      {
        defaultModel: 'openai/m',
        providers: [{ name: 'openai', apiKey: key, baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] }],
      },
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    const session = agent.session(root, {
      sessionId,
      sessionStore: store,
      sandbox: 'off',
      securityProvider: provider,
      model,
      tools: tools.map((tool) => createJsonTool(tool)),
      permissionPolicy: { allow: ['echo', 'read', 'todo'] },
      onAsk: () => ({ decision: 'session' }),
    })
    return { agent, session, store, place }
  }
  const echo = {
    name: 'echo',
    description: 'Says it again.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    limits: { maxBytes: 4_000_000 },
    execute: ({ word }: Record<string, unknown>) => `${word} ${key} ${named}`,
  } as const

  it('no key of the configuration and no named secret is saved, by any path', async () => {
    const both = `${key} ${named}`
    const long = `${'x'.repeat(80_000)} ${both} ${'y'.repeat(80_000)}`
    const { agent, session, store, place } = await open(
      [echo],
      spacious([
        { text: `I know ${both}.`, toolCalls: [{ name: 'echo', args: { word: both } }] },
        { toolCalls: [{ name: 'echo', args: { word: long } }] },
        { reasoning: both, toolCalls: [{ name: 'read', args: { file_path: 'env.txt' } }] },
        { toolCalls: [{ name: 'todo', args: { todos: [{ content: both, status: 'pending' }] } }] },
        { toolCalls: [{ name: both, args: {} }] },
        `It is ${long}.`,
        'Good.',
      ]),
    )
    await session.send(`Here is ${both}`)
    await session.send(`And again: ${long}`)
    await session.save()
    const during = await bytesUnder(place)
    await agent.close()
    await store.close?.()
    for (const bytes of [during, await bytesUnder(place)]) {
      expect(bytes.length).toBeGreaterThan(1000)
      expect(bytes.includes(key), 'the key of the provider').toBe(false)
      expect(bytes.includes(named), 'the named secret').toBe(false)
      // Nor as another spelling of the same bytes.
      expect(bytes.includes(Buffer.from(named).toString('base64').slice(0, 20))).toBe(false)
    }
  })

  it('large contents are stored next to the log, once, and no record is large', async () => {
    const large = 'z'.repeat(300_000)
    const same = { ...echo, execute: () => large }
    const { agent, session, store, place } = await open(
      [same],
      spacious([
        { toolCalls: [{ id: 'one', name: 'echo', args: { word: large } }] },
        { toolCalls: [{ id: 'two', name: 'echo', args: { word: 'x' } }] },
        { toolCalls: [{ id: 'three', name: 'echo', args: { word: 'x' } }] },
        `Done: ${large}`,
      ]),
    )
    await session.send(`Look at this: ${large}`)
    const history = session.history()
    await session.save()
    const records = await recordsOf(store, sessionId)
    const sizes = records.map((record) => JSON.stringify(record).length)
    expect(Math.max(...sizes)).toBeLessThan(70_000)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000)
    const { missingBlobs, messages } = await stateOf(store, sessionId)
    expect(missingBlobs).toEqual([])
    expect(JSON.stringify(messages.map(({ message }) => message)).split(large).length - 1).toBe(6)
    await agent.close()
    await store.close?.()
    const kept = await bytesUnder(place)
    // The prompt, the arguments, the answer, and three results that differ in the id of their call alone.
    console.info(
      `wish 8: 6 contents of 300 kB: ${Math.round(kept.length / 1000)} kB on disk, largest record ${Math.max(...sizes)} characters`,
    )
    expect(kept.length).toBeLessThan(7 * large.length)
    const again = await Agent.create({}, {})
    const opened = openStore(place)
    const resumed = again.resumeSession(sessionId, { sessionStore: opened, model: scriptedModel([]) })
    expect(resumed.history()).toEqual(history)
    await again.close()
    await opened.close?.()
  })
})
