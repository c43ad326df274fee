import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { entryOf } from './support.js'

/** The everything-server on a port of its own. */
export async function startEverything(
  kind: 'streamableHttp' | 'sse',
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort()
  const child = spawn(process.execPath, [entryOf('everything'), kind], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await listening(child)
  return {
    url: `http://127.0.0.1:${port}/${kind === 'sse' ? 'sse' : 'mcp'}`,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

function listening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      if (/listening|running/i.test(chunk.toString())) resolve()
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('exit', () => reject(new Error('the server did not start')))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
