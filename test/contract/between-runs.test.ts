import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Engine } from '../../src/feature/feature-context.js'
import { kernelOf } from '../../src/session/session-class.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { errorEnvelope } from '../../src/tool/envelope.js'
import type { JsonValue } from '../../src/tool/json.js'
import { calls, type Opened, openSession, toolResults } from './open-session.js'

const files = { 'a.txt': 'one\n' }
const allowed = { permissionPolicy: { defaultDecision: 'allow' } } as const
const engineOf = ({ session }: Opened): Promise<Engine> => kernelOf(session).engine.openForRun()

describe('a session between its runs', () => {
  it('releases what the next run opens again, and keeps its rules and what the model has read', async () => {
    const opened = await openSession(
      [
        calls(['read', { file_path: 'a.txt' }]),
        'read',
        calls(['write', { file_path: 'a.txt', content: 'three\n' }]),
        'done',
      ],
      allowed,
      files,
    )
    const kernel = kernelOf(opened.session)
    const first = await engineOf(opened)
    await opened.session.send('Read it.')
    const { rules } = kernel.engine
    expect(await engineOf(opened)).toBe(first)
    // By itself, after a second.
    await vi.waitFor(() => expect(engineOf(opened)).resolves.not.toBe(first), { timeout: 30_000 })
    await writeFile(join(opened.root, 'a.txt'), 'two\n')
    await opened.session.send('Write it.')
    expect(toolResults(opened.server, 3).at(-1)).toMatch(/has changed since you last read/)
    expect(rules).toBeDefined()
    expect(kernel.engine.rules).toBe(rules)
  })

  it.each<[string, readonly [string, JsonValue] | undefined, ((opened: Opened) => Promise<unknown>)?]>([
    [
      'whose mode has changed',
      undefined,
      async (opened) => (await engineOf(opened)).authority.setMode('plan'),
    ],
    ['that the host has used', undefined, ({ session }) => session.tool('read', { file_path: 'a.txt' })],
    ['in which a command was run', ['bash', { command: 'true' }]],
    ['that has returned untrusted text', ['page', {}]],
  ])('keeps an engine %s', async (_, called, use) => {
    const page = createJsonTool({
      name: 'page',
      description: 'Returns text of others.',
      parameters: { type: 'object', properties: {} },
      execute: () => errorEnvelope('text', { untrusted: true }),
    })
    const script = [...(called === undefined ? [] : [calls([...called])]), 'done']
    const opened = await openSession(script, { ...allowed, tools: [page] }, files)
    const before = await engineOf(opened)
    await use?.(opened)
    await opened.session.send('Go.')
    kernelOf(opened.session).takeTurn()
    expect(await engineOf(opened)).toBe(before)
  })

  it('sends the same history with the next run', async () => {
    const opened = await openSession(['one', 'two'], allowed, files)
    await opened.session.send('First.')
    kernelOf(opened.session).takeTurn()
    await opened.session.send('Second.')
    const [, second] = opened.server.requests
    expect(JSON.stringify(second?.body)).toMatch(/First\..*one.*Second\./)
  })
})
