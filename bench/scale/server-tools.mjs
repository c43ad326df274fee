// MCP servers with many tools: connecting, and a call of one of them.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { measureCurve } from './curve.mjs'

const server = join(import.meta.dirname, '../mcp/tiny-server.mjs')

/** @param {import('./curve.mjs').ScalePlace} where */
export async function measureServerTools({ root, place, quick }) {
  const agent = await Agent.create({}, { userDir: join(place, 'user'), env: {} })
  const connected = async (/** @type {number} */ size) => {
    const permissionPolicy = { allow: ['mcp__tiny__echo(*)'] }
    const session = agent.session(root, { permissionPolicy, sandbox: 'off' })
    await session.addMcp({ name: 'tiny', command: process.execPath, args: [server, String(size)] })
    return session
  }
  const sizes = quick ? [10, 100, 1_000] : [10, 100, 1_000, 5_000]
  const curves = [
    await measureCurve({
      title: 'Connecting a server of many tools',
      explanation: 'Tools of one MCP server. Its own process is not counted.',
      sizes,
      most: 1.1,
      times: 3,
      prepare: async (size) => size,
      run: async (size) => (await connected(size)).close(),
    }),
    await measureCurve({
      title: 'One call of a server of many tools',
      explanation: 'Tools of the MCP server, connected before.',
      sizes,
      most: 0.1,
      times: 30,
      prepare: connected,
      run: (session) => session.tool('mcp__tiny__echo', { message: 'hi' }),
      end: (session) => session.close(),
    }),
  ]
  await agent.close()
  return curves
}
