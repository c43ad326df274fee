import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedDirectory, temporaryDirectory } from '../../support/temporary-directory.js'
import { compileShell } from './support/compiled.js'
import { describeWithEachSandbox } from './support/needs-bubblewrap.js'
import {
  canHaveOwnNetwork,
  type RebindingAnswer,
  type RebindingHost,
  type RebindingRequest,
  startRebindingHost,
} from './support/rebinding.js'

const publicAddress = '93.184.216.34'
const separator = '-- next --'
const isPossible = canHaveOwnNetwork()
if (!isPossible) console.warn('NOT RUN: names that change their address: no network namespace of its own')

// A real name server, the resolver of the system, and curl; only the machine's network is of its own.
describe.skipIf(!isPossible)('names of allowed hosts', () => {
  let compiled: ReturnType<typeof compileShell>
  let host: RebindingHost
  const place = sharedDirectory()
  beforeAll(() => {
    compiled = compileShell()
    host = startRebindingHost(compiled.directory, place, publicAddress)
  })
  afterAll(async () => {
    await host.end()
    compiled.remove()
  })

  describeWithEachSandbox('with a hostile name server', (backend) => {
    const run = (
      names: RebindingRequest['names'],
      commands: readonly string[],
      more: Partial<RebindingRequest> = {},
    ): Promise<RebindingAnswer> =>
      host.run({
        backend,
        place: temporaryDirectory(),
        names,
        allowHosts: Object.keys(names),
        commands,
        ...more,
      })
    const get = (url: string): string => `curl -sS -m 20 --noproxy '' '${url}'`
    /** One command for several names: a sandbox takes longer than curl. */
    const getAll = (names: readonly string[]): string =>
      names.map((name) => `${get(`http://${name}/`)}; echo; echo ${separator}`).join('; ')
    const outputsOf = (output = ''): string[] => output.split(separator).slice(0, -1)

    it('SEC-159 are resolved once for a command: a second answer with a private address is never used', async () => {
      const names = { 'rebind.example': [[publicAddress], ['127.0.0.1']] }
      const three = [
        get('http://rebind.example/1'),
        get('http://rebind.example/2'),
        get('http://REBIND.example./3'),
      ]
      const { outputs, served, asked } = await run(names, [three.join('; ')])
      expect(served).toEqual([1, 2, 3].map((n) => `public rebind.example/${n}`))
      expect(outputs[0]).not.toContain('answer of the private server')
      expect(asked).toEqual(['rebind.example'])
    })

    it('SEC-159 are checked again for the next command', async () => {
      const names = { 'rebind.example': [[publicAddress], ['127.0.0.1'], ['169.254.169.254'], ['0.0.0.0']] }
      const { outputs, served } = await run(
        names,
        [1, 2, 3, 4].map((n) => get(`http://rebind.example/${n}`)),
      )
      expect(served).toEqual(['public rebind.example/1'])
      expect(outputs[1]).toContain('127.0.0.1 is a loopback address')
      expect(outputs[2]).toContain('169.254.169.254 is a cloud metadata service')
      expect(outputs[3]).toContain('0.0.0.0 is unspecified')
    })

    it('SEC-158 SEC-160 are refused with a private address, alone, among public ones, or as another name (CNAME)', async () => {
      const names = {
        'loop.example': [['127.0.0.1']],
        'mixed.example': [[publicAddress, '10.0.0.1']],
        'alias.example': [['cname:inner.example', '127.0.0.1']],
        'shared.example': [['100.64.0.1']],
        'local.example': [['192.168.1.1']],
      }
      const { outputs, served } = await run(names, [getAll(Object.keys(names))])
      expect(served).toEqual([])
      expect(outputsOf(outputs[0])).toHaveLength(5)
      for (const output of outputsOf(outputs[0])) expect(output).toMatch(/its address [\d.]+ is /)
    })

    it('SEC-156 of metadata services and of this machine are refused, also where private addresses are allowed', async () => {
      const names = {
        'metadata.google.internal': [['127.0.0.1']],
        'instance-data': [['127.0.0.1']],
        'meta.example': [['169.254.169.254']],
        'open.example': [['127.0.0.1']],
      }
      const { outputs, served } = await run(names, [getAll(Object.keys(names))], { allowPrivate: true })
      expect(served).toEqual(['private open.example/'])
      expect(outputsOf(outputs[0])).toHaveLength(4)
      for (const output of outputsOf(outputs[0]).slice(0, 3)) expect(output).toContain('metadata service')
      const { served: reached } = await run({ 'a.localhost': [[publicAddress]] }, [
        get('http://a.localhost/'),
      ])
      expect(reached).toEqual([])
    })

    it('SEC-161 cannot be bypassed by a redirect, another Host header, another server name or a request inside a tunnel', async () => {
      const names = { 'public.example': [[publicAddress]], 'other.example': [['127.0.0.1']] }
      const tunnel = (lines: string): string =>
        `perl -MIO::Socket::INET -e '$ENV{HTTP_PROXY} =~ m{//(?:(.*)@)?([^:@]+):(\\d+)} or die; my $s = IO::Socket::INET->new("$2:$3") or die; my $a = ""; if ($1) { require MIME::Base64; $a = "Proxy-Authorization: Basic " . MIME::Base64::encode_base64($1, "") . "\\r\\n" } print $s "CONNECT public.example:80 HTTP/1.1\\r\\n$a\\r\\n"; my $l = <$s>; print $s "${lines}"; local $SIG{ALRM} = sub { exit }; alarm 5; print while <$s>'`
      const { outputs, served } = await run(
        names,
        [
          `curl -sSL -m 20 --noproxy '' http://public.example/to-private`,
          `curl -sS -m 20 --noproxy '' -H 'Host: other.example' http://public.example/host`,
          `curl -sSk -m 20 --noproxy '' --connect-to other.example:443:public.example:443 https://other.example/`,
          tunnel('GET /inside HTTP/1.1\\r\\nHost: other.example\\r\\nConnection: close\\r\\n\\r\\n'),
          tunnel(
            'GET http://127.0.0.1/absolute HTTP/1.1\\r\\nHost: public.example\\r\\nConnection: close\\r\\n\\r\\n',
          ),
          tunnel(
            'GET /one HTTP/1.1\\r\\nHost: public.example\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n',
          ),
        ],
        { allowHosts: ['public.example'] },
      )
      // The name that was allowed, whatever the client claims.
      expect(served.filter((one) => one.startsWith('private') || !one.includes('public.example'))).toEqual([])
      expect(served.some((one) => /inside|absolute|smuggled/.test(one))).toBe(false)
      for (const output of outputs) expect(output).not.toContain('answer of the private server')
    })

    it('SEC-154 SEC-155 SEC-163 are refused as addresses in every spelling, and with bytes that end a name', async () => {
      const spellings = [
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f000001',
        '0177.0.0.1',
        '0x7f.1',
        '0',
        '0.0.0.0',
        '127.0.0.1.',
        '[::1]',
        '[::]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[64:ff9b::7f00:1]',
        '[2002:7f00:1::]',
        '[::127.0.0.1]',
        '169.254.169.254',
        '0xa9fea9fe',
        '2852039166',
        '100.100.100.200',
        '[fd00:ec2::254]',
        '①②⑦.⓪.⓪.①',
        '127。0。0。1',
        'public.example%00.evil.example',
        'evil.example\\x00.public.example',
        'public.example@127.0.0.1',
        'PUBLIC.EXAMPLE.evil.example',
        'xn--public-example',
        'публик.example',
        'public.example..',
        '.public.example',
        'public.example:80@127.0.0.1',
      ]
      const raw = spellings
        .flatMap((host) => [`GET http://${host}/raw HTTP/1.1`, `CONNECT ${host}:80 HTTP/1.1`])
        .map((line) => line.replaceAll('@', '\\@').replaceAll('%', '%'))
      const perl = `use IO::Socket::INET; $ENV{HTTP_PROXY} =~ m{//(?:(.*)@)?([^:@]+):(\\d+)} or die; my ($u, $h, $p) = ($1, $2, $3); my $a = ""; if ($u) { require MIME::Base64; $a = "Proxy-Authorization: Basic " . MIME::Base64::encode_base64($u, "") . "\\r\\n" } for my $l (${raw.map((line) => `"${line}"`).join(', ')}) { my $s = IO::Socket::INET->new("$h:$p") or die; binmode $s; print $s "$l\\r\\nHost: public.example\\r\\n$a\\r\\n"; local $SIG{ALRM} = sub { close $s }; alarm 5; my $r = <$s>; print $r || "closed\\n"; close $s }`
      const { outputs, served } = await run({ 'public.example': [[publicAddress]] }, [`perl -e '${perl}'`])
      expect(outputs[0]?.match(/^(?:HTTP\/1\.1 (?:400|403)|closed)/gm)).toHaveLength(raw.length)
      expect(served).toEqual([])
    })
  })
})
