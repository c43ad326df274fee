import { execFileSync } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../src/loop/events.js'
import { MemorySessionStore } from '../../../src/store/memory-store.js'
import { createJsonTool } from '../../../src/tool/create-json-tool.js'
import { bash, calls, openSession, toolResults } from '../../contract/open-session.js'
import { startGitServer } from './support/git-https-server.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'
import { tarballOf } from './support/tarball.js'

/** Not among the names that programs reach without a proxy. */
const address = '127.0.0.2'

let target: Server
let host: string
let served: string[]
let answer: (incoming: IncomingMessage, response: ServerResponse) => void
beforeEach(async () => {
  served = []
  answer = (_incoming, response) => response.end('hello from the host')
  target = createServer((incoming, response) => {
    served.push(`${incoming.method} ${incoming.url}`)
    answer(incoming, response)
  })
  await new Promise<void>((resolve) => target.listen(0, address, resolve))
  host = `${address}:${(target.address() as AddressInfo).port}`
})
afterEach(() => {
  target.closeAllConnections()
  target.close()
})

const allowAll = { permissionPolicy: { allow: ['bash(*)'] }, mode: 'full' } as const

describeWithBubblewrap('network.allowHosts for commands of bash', () => {
  it('allows a command to connect to an allowed host through the proxy, and to no other', async () => {
    const { server, session } = await openSession(
      [bash(`curl -sS http://${host}/page`), bash('curl -sS http://other.example/'), 'done'],
      {
        ...allowAll,
        sandbox: 'required',
        network: { allowHosts: [host, 'registry.example'], allowPrivate: [host] },
      },
    )
    await session.send('x')
    const [reached, refused] = toolResults(server, 2)
    expect(reached).toContain('hello from the host')
    expect(refused).toContain('other.example:80: it is not among the allowed hosts')
    expect(served).toEqual(['GET /page'])
  })

  it('gives no network when the host allows none, and none beyond a ceiling that omits it', async () => {
    const closed = await openSession([bash(`curl -sS -m 5 http://${host}/`), 'done'], {
      ...allowAll,
      sandbox: 'required',
    })
    await closed.session.send('x')
    const cut = await openSession([bash(`curl -sS -m 5 http://${host}/`), 'done'], {
      ...allowAll,
      sandbox: 'required',
      network: { allowHosts: [host], allowPrivate: [host] },
      ceiling: { shell: [{ cmd: '*' }], fs: { read: ['/**'], write: ['{workspace}/**'] } },
    })
    await cut.session.send('x')
    expect(served).toEqual([])
    expect(toolResults(closed.server, 1)[0]).not.toContain('hello')
    expect(toolResults(cut.server, 1)[0]).not.toContain('hello')
  })

  it('SEC-138 is not widened by a tool that names a host, also when it is added while the session runs', async () => {
    const { server, session } = await openSession([bash(`curl -sS -m 5 http://${host}/`), 'done'], {
      ...allowAll,
      sandbox: 'required',
      network: { allowPrivate: [host] },
    })
    session.registerTool(
      createJsonTool({
        name: 'fetch',
        description: 'd',
        requires: { net: { hosts: [host] } },
        parameters: {},
        execute: () => 1,
      }),
    )
    await session.send('x')
    expect(toolResults(server, 1)[0]).not.toContain('hello')
    expect(served).toEqual([])
  })

  it('allows only the hosts that a tool names itself, when it names some', async () => {
    const own = createJsonTool<Record<string, never>>({
      name: 'own_command',
      description: 'd',
      requires: { shell: [{ cmd: '*' }], net: { hosts: ['only.example'] } },
      parameters: { type: 'object' },
      touches: () => [{ shell: { text: `curl -sS http://${host}/` } }],
      execute: async (_args, { runtime }) =>
        (await runtime?.shell?.run(`curl -sS http://${host}/`))?.output ?? '',
    })
    const { server, session } = await openSession([calls(['own_command', {}]), bash('true'), 'done'], {
      ...allowAll,
      sandbox: 'required',
      network: { allowHosts: [host], allowPrivate: [host] },
      tools: [own],
    })
    await session.send('x')
    expect(toolResults(server, 1)[0]).not.toContain('hello')
    expect(served).toEqual([])
  })

  it('refuses a private address of an allowed name, every port but 80 and 443, and other spellings', async () => {
    const port = host.split(':')[1]
    const tries = [
      `curl -sS http://localhost.example:${port}/`,
      `curl -sS --noproxy '' http://127.0.0.1:${port}/`,
      `curl -sS --noproxy '' http://2130706434:${port}/`,
      `curl -sS --noproxy '' http://[::ffff:127.0.0.2]:${port}/`,
      `curl -sS --noproxy '' http://169.254.169.254/latest/meta-data/`,
      `curl -sS --noproxy '' -x "$http_proxy" -p http://${address}:22/`,
      `curl -sS --proxy-header 'Host: allowed.example' http://${address}:8080/`,
      `curl -sS -H 'Host: allowed.example' http://${host}/`,
    ]
    // One command for most: each command with a network starts a Node, which takes longer than curl.
    const asked = [
      bash(tries.map((attempt) => `${attempt}; echo; echo tried`).join('\n')),
      bash(`exec 3<>/dev/tcp/${address}/${port}; echo hello >&3; cat <&3`),
    ]
    const { server, session } = await openSession([...asked, 'done'], {
      ...allowAll,
      onAsk: () => ({ decision: 'once' }),
      sandbox: 'required',
      // The name is allowed, its port is not, and no private address is.
      network: { allowHosts: [address, 'localhost.example', 'allowed.example', '169.254.169.254'] },
    })
    await session.send('x')
    const [tried, direct] = toolResults(server, asked.length)
    expect(tried?.match(/^tried$/gm)).toHaveLength(tries.length)
    for (const result of [tried, direct]) expect(result).not.toContain('hello from')
    expect(served).toEqual([])
  })

  it.each([
    ['by address', () => address],
    ['with its port', () => host],
    ['by a pattern for every host', () => '*'],
  ])(
    'refuses a host that a rule denies %s, also to a command that does not name it',
    async (_name, denied) => {
      const { server, session } = await openSession(
        [bash('node fetch.mjs'), 'done'],
        {
          mode: 'full',
          permissionPolicy: { allow: ['bash(*)'], deny: [`net.fetch(${denied()})`] },
          sandbox: 'required',
          network: { allowHosts: [host], allowPrivate: [host] },
        },
        { 'fetch.mjs': fetchThroughProxy(host) },
      )
      await session.send('x')
      expect(toolResults(server, 1)[0]).toContain('a rule denies this host')
      expect(served).toEqual([])
    },
  )

  it('allows an allowed host from the same script when the rule denies another one', async () => {
    const { server, session } = await openSession(
      [bash('node fetch.mjs'), 'done'],
      {
        mode: 'full',
        permissionPolicy: { allow: ['bash(*)'], deny: ['net.fetch(other.example)'] },
        sandbox: 'required',
        network: { allowHosts: [host], allowPrivate: [host] },
      },
      { 'fetch.mjs': fetchThroughProxy(host) },
    )
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('hello from the host')
  })

  it('allows a push to an allowed git server over https, confined, and to no other', async () => {
    const git = await startGitServer(address)
    const other = await startGitServer(address)
    const push = (url: string) => bash(`GIT_SSL_NO_VERIFY=1 git push ${url} HEAD:refs/heads/main`)
    const { server, session, root } = await openSession([push(git.url), push(other.url), 'done'], {
      ...allowAll,
      onAsk: () => ({ decision: 'once' }),
      sandbox: 'required',
      network: { allowHosts: [git.host], allowPrivate: [git.host, other.host] },
    })
    execFileSync('git', ['init', '--quiet', root])
    execFileSync('git', [
      ...['-C', root, '-c', 'user.name=x', '-c', 'user.email=x@example.com'],
      ...['commit', '--quiet', '--allow-empty', '-m', 'first'],
    ])
    const head = execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
    await session.send('x')
    const [pushed, refused] = toolResults(server, 2)
    expect(pushed).toContain('HEAD -> main')
    expect(git.branches()).toContain(`${head} commit\trefs/heads/main`)
    expect(refused).toContain('it is not among the allowed hosts')
    expect(other.branches()).toBe('')
  })

  it('reports each request with its call in events, log and trace, and a secret in none of them', async () => {
    const value = 'Bearer t0ken-of-the-host-0123456789'
    answer = ({ headers }, response) => response.end(`you sent ${headers.authorization}`)
    const sessionStore = new MemorySessionStore()
    const { server, session } = await openSession(
      [
        bash(`curl -sS http://${host}/page; curl -sS http://other.example/; curl -sS -d x http://${host}/`),
        'done',
      ],
      {
        ...allowAll,
        sandbox: 'required',
        sessionStore,
        sessionId: 's',
        network: {
          allowHosts: [host],
          allowPrivate: [host],
          readOnly: true,
          secrets: [{ host, header: 'authorization', value, plainHttp: true }],
        },
      },
    )
    const events: AgentEvent[] = []
    for await (const event of await session.stream('x')) events.push(event)
    const requests = events.filter((event) => event.type === 'network_request')
    const call = events.find(({ type }) => type === 'tool_execution_start')
    const port = Number(host.split(':')[1])
    const ofCall = { toolId: call?.toolId, toolName: 'bash' }
    expect(requests).toEqual([
      expect.objectContaining({
        ...{ ...ofCall, method: 'GET', host: address, port, verdict: 'allowed', rule: host, status: 200 },
        secretHeader: 'authorization',
      }),
      expect.objectContaining({ ...ofCall, host: 'other.example', verdict: 'refused', code: 'not_allowed' }),
      expect.objectContaining({ ...ofCall, method: 'POST', verdict: 'refused', code: 'read_only' }),
    ])
    expect(session.traceEvents().at(-1)?.network).toMatchObject({ requests: 3, refused: 2 })
    await session.close()
    const log = JSON.stringify((await sessionStore.read('s'))?.records ?? [])
    expect(log).toContain('network_request')
    expect(served).toEqual(['GET /page'])
    for (const text of [log, JSON.stringify(events), toolResults(server, 1)[0]])
      expect(text).not.toContain('t0ken')
  })

  it('allows installing an npm package from an allowed registry, confined', async () => {
    const tarball = tarballOf({ 'package/package.json': '{"name":"tiny","version":"1.0.0"}' })
    answer = ({ url }, response) => {
      if (url === '/tiny/-/tiny-1.0.0.tgz') return void response.end(tarball)
      response.setHeader('content-type', 'application/json')
      const version = {
        name: 'tiny',
        version: '1.0.0',
        dist: { tarball: `http://${host}/tiny/-/tiny-1.0.0.tgz` },
      }
      response.end(
        JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
      )
    }
    const { server, session, root } = await openSession(
      [bash(`npm install --registry=http://${host}/ --no-audit --no-fund tiny`), 'done'],
      {
        ...allowAll,
        onAsk: () => ({ decision: 'once' }),
        sandbox: 'required',
        network: { allowHosts: [host], allowPrivate: [host] },
      },
      { 'package.json': '{"name":"x","version":"1.0.0"}' },
    )
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('added 1 package')
    expect(
      execFileSync('cat', [join(root, 'node_modules/tiny/package.json')], { encoding: 'utf8' }),
    ).toContain('tiny')
  })
})

describe('the ports of web_fetch', () => {
  const fetches = (...urls: string[]) => [
    ...urls.map((url) => calls(['web_fetch', { url }])),
    'done' as const,
  ]

  it.each([
    ['a rule for the tool', { permissionPolicy: { allow: ['web_fetch'] } }],
    ['a rule for every host', { permissionPolicy: { allow: ['web_fetch(*)', 'net.fetch(*)'] } }],
    ['a rule for the host without a port', { permissionPolicy: { allow: [`web_fetch(${address})`] } }],
    ['a rule for another port', { permissionPolicy: { allow: [`web_fetch(${address}:8443)`] } }],
    ['the mode full', { mode: 'full' as const }],
    ['a default that allows', { permissionPolicy: { defaultDecision: 'allow' as const } }],
  ])('are 80 and 443 with %s', async (_name, options) => {
    const { server, session } = await openSession(fetches(`http://${host}/`), {
      ...options,
      network: { allowPrivate: true },
    })
    await session.send('x')
    expect(toolResults(server, 1)[0]).not.toContain('hello')
    expect(served).toEqual([])
  })

  it('include the one that a rule names, also in plan mode and for redirects', async () => {
    const port = host.split(':')[1] ?? ''
    const { server, session } = await openSession(fetches(`http://${host}/a`), {
      mode: 'plan',
      permissionPolicy: { allow: [`web_fetch(${host})`] },
      network: { allowPrivate: true },
    })
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('hello from the host')
    answer = ({ url }, response) =>
      url === '/start'
        ? void response.writeHead(302, { location: `http://127.0.0.3:${port}/next` }).end()
        : void response.end('moved')
    const moved = await openSession(fetches(`http://${host}/start`), {
      permissionPolicy: { allow: [`web_fetch(${host})`, 'web_fetch(127.0.0.3)'] },
      network: { allowPrivate: true },
    })
    await moved.session.send('x')
    expect(toolResults(moved.server, 1)[0]).toContain(`names the port ${port}`)
  })

  it('are asked about when no rule names them, and an approval is enough', async () => {
    const asked: string[] = []
    const { server, session } = await openSession(fetches(`http://${host}/`), {
      permissionPolicy: { allow: ['web_fetch'] },
      network: { allowPrivate: true },
      onAsk: ({ toolName }) => {
        asked.push(toolName)
        return { decision: 'once' }
      },
    })
    await session.send('x')
    expect(asked).toEqual(['web_fetch'])
    expect(toolResults(server, 1)[0]).toContain('hello from the host')
  })
})

/** A script that asks the proxy for a page without a host in its command line. */
function fetchThroughProxy(host: string): string {
  return `import { request } from 'node:http'
const { hostname, port } = new URL(process.env.http_proxy)
request({ host: hostname, port, path: 'http://${host}/page' }, (response) => response.pipe(process.stdout)).end()
`
}
