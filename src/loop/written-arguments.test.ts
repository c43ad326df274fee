import { describe, expect, it } from 'vitest'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createGate } from './gate.js'
import type { GateCall, GateOutcome, GateParts } from './gate-parts.js'
import { createSessionAuthority } from './session-authority.js'

const ran: unknown[] = []
const touched: unknown[] = []
const tool = createJsonTool<{ path: string; limit?: number; tags?: string[] }>({
  name: 'note',
  description: 'Take a note.',
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      limit: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['path'],
    additionalProperties: false,
  },
  touches: (args) => {
    touched.push(args)
    return []
  },
  execute: (args) => {
    ran.push(args)
    return 'noted'
  },
})

async function call(input: GateCall['input'], parts: Partial<GateParts> = {}): Promise<GateOutcome> {
  ran.length = 0
  touched.length = 0
  const authority = createSessionAuthority({
    scope: () => ({ variables: { workspace: ['/work'] }, home: '/home' }),
    tools: () => [tool],
    policy: { allow: ['note'] },
  })
  const gate = createGate({
    tools: { get: (name) => (name === 'note' ? tool : undefined), names: () => ['note'] },
    authorityFor: (one) => authority.for(one),
    spill: async () => 'file',
    now: () => 0,
    newId: () => 'call',
    ...parts,
  })
  return gate.call({ name: 'note', origin: 'model', input })
}

describe('arguments that a model wrote', () => {
  it('run unchanged and without a notice when they are valid', async () => {
    const { record } = await call({ text: '{"path": "5", "limit": 5}' })
    expect(ran).toEqual([{ path: '5', limit: 5 }])
    expect(record.notices).toBeUndefined()
    expect(record.args).toBe('{"path": "5", "limit": 5}')
  })

  it('are repaired and validated; the repaired arguments are judged, run and recorded', async () => {
    const { record } = await call({ text: "```json\n{path: 'a.txt', 'limit': '5', tags: 'x', }\n```" })
    expect(ran).toEqual([{ path: 'a.txt', limit: 5, tags: ['x'] }])
    expect(touched).toEqual(ran)
    expect(JSON.parse(record.args)).toEqual(ran[0])
    expect(record.endedAt).toBe('done')
    expect(record.notices).toContain('limit: text was read as integer')
    expect(record.notices).toContain('the arguments were not JSON: a code fence was left out')
  })

  it('are not completed when they are cut off', async () => {
    const { envelope, record } = await call({ text: '{"path": "a.tx' })
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('not JSON') })
    expect(record.args).toBe('{"path": "a.tx')
    expect(ran).toEqual([])
  })

  it('get the error of the original text when the repaired one is not valid either', async () => {
    const { envelope, record } = await call({ text: '{"path": "a", "limit": "many", "tags": "x"}' })
    expect(envelope).toMatchObject({
      error_text: expect.stringContaining('limit: expected integer; got "many"'),
    })
    expect(envelope).toMatchObject({ error_text: expect.stringContaining('tags: expected array; got "x"') })
    expect(record.notices).toBeUndefined()
    expect(ran).toEqual([])
  })
})

describe('arguments from code', () => {
  it('are valid or rejected, and never repaired', async () => {
    const { envelope } = await call({ value: { path: 'a', limit: '5' } })
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('limit') })
    expect(ran).toEqual([])
  })

  it('are also never repaired when middleware or a hook replaced those of a model', async () => {
    const wrong = { path: 'a', limit: '5' }
    const byHook = await call(
      { text: '{"path": "a"}' },
      { before: () => ({ action: 'change', args: wrong }) },
    )
    expect(byHook.envelope).toMatchObject({ type: 'error' })
    const middleware = [{ onToolInput: () => ({ args: wrong }) }]
    const byMiddleware = await call({ text: '{"path": "a"}' }, { middleware })
    expect(byMiddleware.envelope).toMatchObject({ type: 'error' })
    expect(ran).toEqual([])
  })
})
