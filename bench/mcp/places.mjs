// The official everything-server over stdio and HTTP, reached by the bare client library and through a session.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Agent } from 'capstan'

const require = createRequire(import.meta.url)
const entry = require
  .resolve('@modelcontextprotocol/server-everything/package.json')
  .replace(/package\.json$/, 'dist/index.js')

/** @typedef {{ echo(): Promise<void>, close(): Promise<void> }} Place */

/** @returns {Promise<Place>} */
export async function bareStdio() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [entry, 'stdio'],
    stderr: 'ignore',
  })
  return bare(transport)
}

/** @param {string} url @returns {Promise<Place>} */
export async function bareHttp(url) {
  return bare(new StreamableHTTPClientTransport(new URL(url)))
}

/** @param {any} transport @returns {Promise<Place>} */
async function bare(transport) {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(transport)
  return {
    async echo() {
      const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
      if (content[0]?.type !== 'text' || content[0].text !== 'Echo: hi') throw new Error('no echo')
    },
    close: () => client.close(),
  }
}

/** @param {{ url?: string, sandbox?: 'off' | 'auto' }} [options] @returns {Promise<Place>} */
export async function throughSession({ url, sandbox = 'off' } = {}) {
  const base = await mkdtemp(join(tmpdir(), 'capstan-bench-mcp-'))
  const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
  const session = agent.session(base, { sandbox })
  await session.addMcp(
    url === undefined
      ? { name: 'every', command: process.execPath, args: [entry, 'stdio'] }
      : { name: 'every', url },
  )
  return {
    async echo() {
      const { output } = await session.tool('mcp__every__echo', { message: 'hi' })
      if (output !== 'Echo: hi') throw new Error(output)
    },
    async close() {
      await agent.close()
      await rm(base, { recursive: true, force: true })
    },
  }
}

/** @returns {Promise<{ url: string, close(): Promise<void> }>} */
export async function httpServer() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  probe.close()
  await once(probe, 'close')
  const child = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await once(child.stderr, 'data')
  await new Promise((resolve) => setTimeout(resolve, 500))
  child.stderr.resume()
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
