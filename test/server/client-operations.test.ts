import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { createServer } from '../../src/server/index.js'
import { operationsSource } from './client-operations.js'

const file = 'src/client/operations.ts'

it('the operations of the client equal the table of routes', async () => {
  const agent = await Agent.create()
  const { openapi } = createServer(agent, { token: 'a-token-for-this-test', workspaces: [tmpdir()] })
  const source = operationsSource(openapi)
  if (process.env['UPDATE_CLIENT'] === '1') writeFileSync(file, source)
  const written = readFileSync(file, 'utf8')
  // The formatter breaks lines and drops parentheses.
  const plain = (text: string) => text.replace(/[\s;,|()]/g, '')
  expect(plain(written)).toBe(plain(source))
  await agent.close()
})
