import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startModelServer } from '../../src/testing/index.js'
import { spawnServer } from './process.js'
import { directory, readEvents } from './support.js'

/** A configuration that asks a model server on loopback. */
function configFor(place: string, url: string): string {
  const file = join(place, 'server.acl')
  writeFileSync(
    file,
    `default_model = "local/test"\nproviders "local" { base_url = "${url}" api_key = "key-of-the-test" models "test" {} }\n`,
  )
  return file
}

describe('capstan server', () => {
  it('prints one line with the real port, creates a private token and answers only with it', async () => {
    const cwd = directory()
    const started = await spawnServer(['--model', 'offline'], { cwd })
    const file = join(cwd, '.capstan/server-token')
    expect(started.stdout).toEqual([`Listening on ${started.url}`])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const token = readFileSync(file, 'utf8').trim()
    expect(started.stdout.join()).not.toContain(token)
    expect(started.stderr()).not.toContain(token)
    expect((await fetch(`${started.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${started.url}/readyz`)).status).toBe(200)
    expect((await fetch(`${started.url}/v1/sessions`)).status).toBe(401)
    const answer = await fetch(`${started.url}/v1/sessions`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await answer.json()).toEqual({ sessions: [] })
    started.child.kill('SIGTERM')
    expect(await started.ended).toBe(0)
  })

  it('prints JSON, and accepts the token of the environment and several workspaces by their base names', async () => {
    const cwd = directory()
    for (const name of ['api', 'web']) mkdirSync(join(cwd, name))
    const token = 'token-of-the-environment'
    const started = await spawnServer(
      ['--json', '--model', 'offline', '--workspace', 'api', '--workspace', 'web'],
      {
        cwd,
        env: { CAPSTAN_SERVER_TOKEN: token },
      },
    )
    expect(JSON.parse(started.stdout[0] ?? '')).toEqual({ url: started.url, tokenFile: null })
    expect(existsSync(join(cwd, '.capstan/server-token'))).toBe(false)
    const open = async (body: object): Promise<Response> =>
      fetch(`${started.url}/v1/sessions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect(basename((await (await open({})).json()).workspace)).toBe('api')
    expect(basename((await (await open({ workspace: 'web' })).json()).workspace)).toBe('web')
    expect((await open({ workspace: '/etc' })).status).toBe(403)
    started.child.kill('SIGTERM')
    expect(await started.ended).toBe(0)
  })

  it('suspends a run on SIGTERM, and the next server finishes it for a reader that reconnects', async () => {
    const cwd = directory()
    const models = await startModelServer([
      { toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'x' }, id: 'call-1' }] },
      'Done.',
    ])
    const env = { CAPSTAN_SERVER_TOKEN: 'token-of-the-tests-0001' }
    const args = ['--config', configFor(cwd, `${models.url}/v1`), '--store', 'sessions', '--drain', '1ms']
    const first = await spawnServer(args, { cwd, env })
    const call = async (url: string, method: string, path: string, body?: object) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${env.CAPSTAN_SERVER_TOKEN}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    }
    const { sessionId } = (await call(first.url, 'POST', '/v1/sessions', {})).body
    const { runId } = (await call(first.url, 'POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Write.' }))
      .body
    const path = `/v1/sessions/${sessionId}/runs/${runId}/events`
    const seen = []
    for (;;) {
      const [one] = await readEvents(first.url, path, { from: seen.at(-1)?.sequence ?? 0, count: 1 })
      if (one === undefined) break
      seen.push(one)
      if (one.event.type === 'confirmation_required') break
    }
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(0)

    const second = await spawnServer(args, { cwd, env })
    const approvals = await call(second.url, 'GET', `/v1/sessions/${sessionId}/approvals`)
    expect(approvals.body.approvals).toMatchObject([{ callId: 'call-1', fromBefore: true }])
    await call(second.url, 'POST', `/v1/sessions/${sessionId}/approvals/call-1`, { decision: 'once' })
    const rest = await readEvents(second.url, path, { from: seen.at(-1)?.sequence ?? 0 })
    expect(rest.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'Done.' } })
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('x')
    second.child.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    await models.close()
  })

  it('answers on every address of the machine when it listens on all, and for no other name', async () => {
    const cwd = directory()
    const env = { CAPSTAN_SERVER_TOKEN: 'token-of-the-environment' }
    const started = await spawnServer(['--model', 'offline', '--host', '0.0.0.0'], { cwd, env })
    const { port } = new URL(started.url)
    const own = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ family }) => family === 'IPv4')
    for (const { address } of own)
      expect((await fetch(`http://${address}:${port}/healthz`)).status, address).toBe(200)
    const other = request({ port, path: '/healthz', headers: { host: 'evil.example' } })
    other.end()
    const [answer] = await once(other, 'response')
    expect(answer.statusCode).toBe(421)
    answer.resume()
    started.child.kill('SIGTERM')
    expect(await started.ended).toBe(0)
  })

  it.each([
    [['extra'], 'takes no argument'],
    [['--drain', 'soon'], 'duration'],
    [['--workspace', 'nowhere'], 'does not exist'],
    // An address of documentation, which no machine has.
    [['--host', '203.0.113.1'], 'Check --host'],
  ])('rejects %j with a reason', async (args, reason) => {
    const starting = spawnServer(['--model', 'offline', ...args], { cwd: directory() })
    await expect(starting).rejects.toThrow(reason)
  })
})
