import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createCertificateAuthority } from '../../../src/workspace/egress/certificate-authority.js'
import type { NetworkRequest, NetworkRules } from '../../../src/workspace/egress/index.js'
import { createLocalShell, type LocalShell } from '../../../src/workspace/shell/local-shell.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { startGitServer } from './support/git-https-server.js'
import { describeWithEachSandbox } from './support/needs-bubblewrap.js'
import { tarballOf } from './support/tarball.js'

const authority = createCertificateAuthority()
const token = 'Bearer t0ken-of-the-host-0123456789'

describeWithEachSandbox('the network of commands', (backend) => {
  let place: string
  let servers: Server[]
  let shell: LocalShell
  let requests: NetworkRequest[]
  let served: string[]

  beforeEach(() => {
    place = temporaryDirectory()
    mkdirSync(join(place, 'work'))
    servers = []
    requests = []
    served = []
  })
  afterEach(async () => {
    await shell.close()
    for (const server of servers) server.close()
  })

  async function serve(scheme: 'http' | 'https', answer: (url: string, response: ServerResponse) => void) {
    const onRequest = (incoming: IncomingMessage, response: ServerResponse): void => {
      served.push(`${incoming.method} ${incoming.url} ${incoming.headers.authorization ?? 'none'}`)
      response.setHeader('connection', 'close')
      answer(incoming.url ?? '', response)
    }
    const server =
      scheme === 'http'
        ? createHttp(onRequest)
        : createHttps({ SNICallback: (name, done) => done(null, authority.contextFor(name)) }, onRequest)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  function open(rules: NetworkRules): void {
    shell = createLocalShell({
      root: join(place, 'work'),
      ledgerDir: workerLedger,
      sandbox: 'required',
      sandboxOptions: {
        backend,
        network: {
          certificates: authority.certificate,
          ...rules,
          checkHost: async (host) => ({ address: host.endsWith('.test') ? '127.0.0.1' : host }),
        },
      },
    })
  }

  const run = async (command: string): Promise<string> => {
    const outcome = await shell.run(command, { confine: { onRequest: (one) => requests.push(one) } })
    return `${outcome.output}\n${outcome.blocked.join('\n')}`
  }

  it('allows curl to connect to an allowed host over http and https, and to nothing else', async () => {
    const http = await serve('http', (_url, response) => response.end('plain hello'))
    const https = await serve('https', (_url, response) => response.end('secure hello'))
    open({ allowHosts: [`a.test:${http}`, `a.test:${https}`] })
    // One command: each command with a network starts a Node in bubblewrap, which takes longer than curl.
    const out = await run(
      `curl -sS http://a.test:${http}/; echo; curl -sSk https://a.test:${https}/; echo
       curl -sSk https://b.test:${https}/; echo; echo asked
       curl -sS -m 5 --noproxy '*' http://127.0.0.1:${http}/; (exec 3<>/dev/tcp/127.0.0.1/${http}) && echo connected; echo tried`,
    )
    const [asked = '', around = ''] = out.split(/^asked$/m)
    expect(asked.match(/^.*hello$/gm)).toEqual(['plain hello', 'secure hello'])
    expect(out).toContain('b.test')
    expect(around).toMatch(/^tried$/m)
    expect(around).not.toMatch(/hello|^connected/m)
    expect(requests.map(({ method, host, verdict, scheme }) => [method, host, verdict, scheme])).toEqual([
      ['GET', 'a.test', 'allowed', 'http'],
      ['CONNECT', 'a.test', 'allowed', 'tunnel'],
      ['CONNECT', 'b.test', 'refused', 'tunnel'],
    ])
  })

  it('adds a secret for one host that the command never sees, and not after a redirect to another', async () => {
    let other = 0
    const port = await serve('https', (url, response) => {
      if (url === '/away') response.writeHead(302, { location: `https://b.test:${other}/there` })
      response.end(url === '/echo' ? token : 'hello')
    })
    other = port
    open({
      allowHosts: [`a.test:${port}`, `b.test:${port}`],
      readOnly: ['b.test'],
      secrets: [{ host: `a.test:${port}`, header: 'authorization', value: token }],
    })
    const out = await run(
      `curl -sS https://a.test:${port}/echo; curl -sSL -H 'authorization: mine' https://a.test:${port}/away; env; cat ~/.capstan-certificates.pem | grep -c 'PRIVATE KEY'`,
    )
    expect(out).toContain('*'.repeat(token.length))
    expect(out).not.toContain('t0ken')
    expect(out).toMatch(/^0$/m)
    expect(served).toEqual([`GET /echo ${token}`, `GET /away ${token}`, 'GET /there none'])
    expect(JSON.stringify(requests)).not.toContain('t0ken')
  })

  it('allows git to clone and push over https to an inspected host, and only to clone from a read-only one', async () => {
    const git = await startGitServer('127.0.0.2')
    const rules = { allowHosts: [git.host], certificates: git.certificate }
    open({ ...rules, secrets: [{ host: git.host, header: 'authorization', value: token }] })
    const work = join(place, 'work')
    execFileSync('git', ['init', '--quiet', work])
    const commit = ['commit', '--quiet', '--allow-empty', '-m', 'first']
    execFileSync('git', ['-C', work, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...commit])
    expect(await run(`git push ${git.url} HEAD:refs/heads/main`)).toContain('HEAD -> main')
    expect(git.requests.every((one) => one.endsWith(token))).toBe(true)
    await shell.close()
    open({ ...rules, readOnly: true, gitFetch: true })
    expect(await run(`git clone --branch main ${git.url} copy`)).not.toContain('fatal')
    expect(readFileSync(join(work, 'copy/.git/HEAD'), 'utf8')).toContain('main')
    expect(await run(`git push ${git.url} HEAD:refs/heads/other`)).toContain('read-only')
    expect(git.branches()).not.toContain('other')
    await shell.close()
    open({ ...rules, readOnly: true })
    expect(await run(`git clone --branch main ${git.url} second`)).toContain('read-only')
    expect(requests.map(({ rule }) => rule)).toContain('gitFetch')
  })

  // Once: npm takes long to start, and with bubblewrap it is tested over http.
  if (backend === 'landlock')
    it('allows npm to install from a read-only registry over https', { timeout: 300_000 }, async () => {
      const tarball = tarballOf({ 'package/package.json': '{"name":"tiny","version":"1.0.0"}' })
      const port = await serve('https', (url, response) => {
        if (url.endsWith('.tgz')) return void response.end(tarball)
        response.setHeader('content-type', 'application/json')
        const dist = { tarball: `https://registry.test:${port}/tiny/-/tiny-1.0.0.tgz` }
        const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } }
        response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }))
      })
      open({ allowHosts: [`registry.test:${port}`], readOnly: true })
      const registry = `https://registry.test:${port}/`
      expect(await run(`npm install --registry=${registry} --no-audit --no-fund tiny`)).toContain(
        'added 1 package',
      )
      expect(readFileSync(join(place, 'work/node_modules/tiny/package.json'), 'utf8')).toContain('tiny')
      expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['GET']))
    })

  it('SEC-124 cannot bypass the proxy', async () => {
    const port = await serve('http', (_url, response) => response.end('hello'))
    open({ allowHosts: [`a.test:${port}`] })
    const perl = (code: string): string =>
      `perl -e 'use Socket; my $to = pack_sockaddr_in(${port}, inet_aton("127.0.0.1")); ${code}'`
    const tcp = 'socket(my $s, PF_INET, SOCK_STREAM, 0) or die "no socket"; '
    const tries = [
      // Connects with the first data, without connect.
      `${tcp} defined send($s, "GET / HTTP/1.0\\r\\n\\r\\n", 0x20000000, $to) or die "no $!"; print "sent "; print <$s>`,
      // Other protocols, and other families.
      'socket(my $s, PF_INET, SOCK_STREAM, 262) and connect($s, $to) and print "connected"',
      'socket(my $s, PF_INET, SOCK_DGRAM, 0) and connect($s, $to) and defined send($s, "x", 0) and print "sent"',
      'socket(my $s, PF_INET6, SOCK_STREAM, 0) and connect($s, pack_sockaddr_in6(' +
        `${port}, inet_pton(AF_INET6, "::ffff:127.0.0.1"))) and print "connected"`,
      // Another address with the port of the proxy.
      '$ENV{HTTP_PROXY} =~ /:(\\d+)$/; ' +
        `${tcp} connect($s, pack_sockaddr_in($1, inet_aton("127.0.0.2"))) and print "connected"`,
    ]
    const out = await run(tries.map((attempt) => `${perl(attempt)}; echo; echo tried`).join('\n'))
    expect(out.match(/^tried$/gm)).toHaveLength(tries.length)
    expect(out).not.toMatch(/hello|connected|^sent/m)
    expect(served).toEqual([])
    expect(requests).toEqual([])
  })

  it('accepts no connections from outside', async () => {
    open({ allowHosts: ['a.test'] })
    const listening = `perl -e 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or die; BIND listen($s, 5) and print "listening"'`
    const bound = listening.replace('BIND', 'bind($s, pack_sockaddr_in(0, INADDR_ANY)) and ')
    const local = `perl -e 'use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; bind($s, pack_sockaddr_un("s")) and listen($s, 5) and print "listening"'`
    const out = await run([listening.replace('BIND', ''), bound, local].join('; echo; echo and; '))
    // With namespaces the interface belongs to the command.
    const inside = backend === 'bubblewrap'
    expect(out.split(/^and$/m).map((one) => one.includes('listening'))).toEqual([inside, inside, true])
  })
})
