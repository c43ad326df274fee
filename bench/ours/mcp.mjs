// A server's tool by the official client library alone, and through a session.
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Agent } from 'capstan'
import { hostOptions } from '../loop/host-options.mjs'
import { args, command, echoes } from './echoes.mjs'

/** @type {Record<string, import('../peers/sides.mjs').Side>} */
export const sides = {
  fetch: {
    title: 'the official client library alone',
    async open() {
      const client = new Client({ name: 'bench', version: '1' })
      await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }))
      return echoes(
        () => client.callTool({ name: 'echo', arguments: { message: 'hi' } }),
        () => client.close(),
      )
    },
  },
  capstan: {
    title: 'capstan: session.tool, rules, watchdog, hook',
    async open({ root, place }) {
      const agent = await Agent.create({}, { userDir: join(place, 'user'), env: {} })
      const { permissionPolicy = {}, ...options } = hostOptions
      const policy = { ...permissionPolicy, allow: [...(permissionPolicy.allow ?? []), 'mcp__tiny__echo(*)'] }
      const session = agent.session(root, { ...options, permissionPolicy: policy, sandbox: 'off' })
      await session.addMcp({ name: 'tiny', command, args })
      return echoes(
        () => session.tool('mcp__tiny__echo', { message: 'hi' }),
        () => agent.close(),
      )
    },
  },
}
