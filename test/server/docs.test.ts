import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from '../house/run.js'
import { spawnServer } from './process.js'
import { directory } from './support.js'

const run = promisify(execFile)

/** `jq -r .name` of the samples, for machines without it. */
const jq = `jq() { node -e 'let text = ""; process.stdin.on("data", (data) => { text += data }).on("end", () => console.log(JSON.parse(text)[process.argv[2].slice(1)]))' -- "$@"; }`

it('the curl samples of the page about the server run as written', async () => {
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

it('the example with the native client serves its page, the client and sessions to its own cookie', async () => {
  const cwd = directory()
  const child = spawn(process.execPath, [join(root, 'examples/web/native.mjs'), cwd], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd, CAPSTAN_LOCAL_MODELS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = await once(createInterface({ input: child.stdout }), 'line')
    const [url = ''] = /http:\/\/\S+/.exec(String(line)) ?? []
    const page = await fetch(url)
    expect(await page.text()).toContain('createClient')
    const [cookie = ''] = page.headers.get('set-cookie')?.split(';') ?? []
    expect(await (await fetch(`${url}/client.js`)).text()).toContain('createClient')
    const open = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${url}/v1/sessions`, { headers })
    expect((await open({})).status).toBe(401)
    expect((await open({ cookie })).status).toBe(200)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  expect(readFileSync(join(root, 'examples/web/native.mjs'), 'utf8').split('\n').length).toBeLessThan(100)
})
