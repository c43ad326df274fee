import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../house/run.js'
import { spawnServer } from './process.js'
import { directory } from './support.js'

const run = promisify(execFile)

/** `jq -r .name` of the samples, for machines without it. */
const jq = `jq() { node -e 'let text = ""; process.stdin.on("data", (data) => { text += data }).on("end", () => console.log(JSON.parse(text)[process.argv[2].slice(1)]))' -- "$@"; }`

it('the curl samples of the page about the server run as they are written', async () => {
  const page = readFileSync(join(root, 'docs/server.md'), 'utf8')
  const sample = [...page.matchAll(/```text\n([\s\S]*?)```/g)]
    .map(([, code = '']) => code)
    .find((code) => code.includes('curl'))
  expect(sample).toBeDefined()
  const cwd = directory()
  const server = await spawnServer(['--model', 'offline'], { cwd })
  const { port } = new URL(server.url)
  const script = `set -eu\n${jq}\n${(sample ?? '').replaceAll('localhost:4747', `localhost:${port}`)}`
  const { stdout } = await run('bash', ['-c', script], {
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd },
  })
  expect(stdout).toContain('id: 1\ndata: {"type":"agent_start"')
  expect(stdout).toContain('"type":"agent_end"')
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
})
