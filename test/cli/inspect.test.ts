import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { directory } from '../server/support.js'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})

type Inspect = {
  readonly child: ChildProcess
  readonly firstLine: Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
}

/** `capstan inspect` as a process of its own. */
function inspect(cwd: string, ...args: readonly string[]): Inspect {
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'inspect', ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: cwd, CAPSTAN_LOCAL_MODELS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => {
    stdout += String(data)
  })
  child.stderr.on('data', (data) => {
    stderr += String(data)
  })
  const ended = once(child, 'close').then(([code]) => ({ code, stdout, stderr }))
  const firstLine = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve)
    void ended.then(({ stderr: said }) => reject(new Error(`It ended without a line: ${said}`)))
  })
  // Some tests look only at how it ended.
  firstLine.catch(() => undefined)
  return { child, firstLine, ended }
}

async function signIn(url: string, link: string): Promise<Record<string, string>> {
  const code = link.split('#code=')[1]
  const headers = { 'content-type': 'application/json', origin: url, 'sec-fetch-site': 'same-origin' }
  const body = JSON.stringify({ code })
  const response = await fetch(`${url}/v1/inspector/sign-in`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  const { csrf } = (await response.json()) as { readonly csrf: string }
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { ...headers, cookie, 'x-capstan-csrf': csrf }
}

describe('capstan inspect', () => {
  it('prints a link that opens the stored sessions of the directory, and ends with Ctrl+C', async () => {
    const cwd = directory()
    const agent = await Agent.create()
    const session = agent.session(cwd, {
      model: scriptedModel(['Land in sight!']),
      sessionStore: new FileSessionStore(join(cwd, 'sessions')),
      title: 'Look out',
    })
    await session.send('Look.')
    await agent.close()

    const { child, firstLine, ended } = inspect(cwd, '--no-open', '--store', 'sessions')
    const [, link = ''] =
      /^Open (http:\/\/127\.0\.0\.1:\d+\/inspect\/#code=[\w-]{43})$/.exec(await firstLine) ?? []
    const url = new URL(link).origin
    const page = await fetch(`${url}/inspect/`)
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await page.text()).toContain('Capstan inspector')
    const headers = await signIn(url, link)
    const listed = await (await fetch(`${url}/v1/sessions?summary=true`, { headers })).json()
    expect(listed).toMatchObject({
      sessions: [{ sessionId: session.sessionId, title: 'Look out', summary: { status: 'completed' } }],
    })
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('code=') })
  })

  it('prints the link as JSON', async () => {
    const { child, firstLine, ended } = inspect(directory(), '--json', '--store', 'sessions')
    const { url, link } = JSON.parse(await firstLine)
    expect(link).toBe(`${url}/inspect/#code=${String(link).split('=')[1]}`)
    await signIn(url, link)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })

  it('says what to do when the port is in use, and describes its options', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const taken = await inspect(directory(), '--port', String(port), '--store', 'sessions').ended
    other.close()
    expect(taken.code).not.toBe(0)
    expect(taken.stdout).toBe('')
    expect(taken.stderr).toContain(`Cannot listen on port ${port}`)
    expect(taken.stderr).toContain('Choose another port with --port, or leave it out.')
    const help = await inspect(directory(), '--help').ended
    expect(help.code).toBe(0)
    for (const option of ['--all', '--port', '--no-open', '--json']) expect(help.stdout).toContain(option)
  })
})
