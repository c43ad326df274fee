import { expect, it } from 'vitest'
import { openAcp } from '../acp/drive.js'

it('a client of capstan acp has no methods of a host, unless the command was started with --host-methods', async () => {
  const editor = await openAcp()
  const refused = { code: -32601 }
  await expect(editor.request('_capstan/agent/create', {})).rejects.toMatchObject(refused)
  await expect(editor.request('_capstan/session/open', { session: 1 })).rejects.toMatchObject(refused)
  expect((await editor.end()).code).toBe(0)

  const host = await openAcp({ flags: ['--host-methods'] })
  expect(await host.request('_capstan/agent/create', {})).toEqual({ value: { warnings: [] } })
  await expect(host.request('_capstan/agent/destroy', {})).rejects.toMatchObject(refused)
  await expect(host.request('_capstan/session/constructor', { session: 1 })).rejects.toMatchObject(refused)
  expect((await host.end()).code).toBe(0)
})
