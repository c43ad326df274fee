import { mkdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ShellOutcome } from '../../../src/tool/runtime.js'
import { createLocalShell, type LocalShell } from '../../../src/workspace/shell/local-shell.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'

describeWithBubblewrap('the network of a sandbox, host by host', () => {
  let place: string
  let target: Server
  let port: number
  let shell: LocalShell

  const openShell = (env?: Readonly<Record<string, string>>): LocalShell =>
    createLocalShell({
      root: join(place, 'work'),
      ledgerDir: workerLedger,
      sandbox: 'required',
      env,
      sandboxOptions: {
        network: { allowHosts: [`good.test:${port}`], checkHost: async () => ({ address: '127.0.0.1' }) },
      },
    })

  beforeEach(async () => {
    place = temporaryDirectory()
    mkdirSync(join(place, 'work'))
    target = createServer((_incoming, answer) => answer.end('hello'))
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
    port = (target.address() as AddressInfo).port
    shell = openShell()
  })
  afterEach(async () => {
    await shell.close()
    target.close()
  })

  /** A request through the proxy in nothing but bash. */
  const get = (host: string): string =>
    `exec 3<>"/dev/tcp/127.0.0.1/\${HTTPS_PROXY##*:}"; printf 'CONNECT ${host} HTTP/1.1\\r\\n\\r\\n' >&3; read -r status <&3; echo "$status"
     printf 'GET / HTTP/1.1\\r\\nhost: ${host}\\r\\nconnection: close\\r\\n\\r\\n' >&3; tail -n 1 <&3; exec 3>&-`

  it('SEC-124 connects to an allowed host through the proxy, and cannot bypass it', async () => {
    const reached = await shell.run(get(`good.test:${port}`))
    expect(reached).toMatchObject({
      exitCode: 0,
      output: expect.stringMatching(/200 Connection Established.*hello$/s),
      blocked: [],
    })
    const around = await shell.run(
      `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo host; [ "$(wc -l < /proc/net/route)" -le 1 ] || echo route; getent hosts example.com; echo done`,
    )
    expect(around.output).toBe('done\n')
  })

  it('SEC-124 refuses any other host, and the outcome names it', async () => {
    const refused = await shell.run(get('evil.test:443'))
    expect(refused.output).toMatch(/403 Forbidden/)
    expect(refused.blocked).toEqual(['The network refused evil.test:443: it is not among the allowed hosts.'])
    // A refusal belongs to its own command.
    expect((await shell.run('true')).blocked).toEqual([])
  })

  it('gives the certificate authorities of Node to the command, and not to the relay', async () => {
    await shell.close()
    shell = openShell({ NODE_EXTRA_CA_CERTS: '/etc/no such file.pem', OTHER: 'x' })
    const variables = 'grep -z -E "^(NODE_EXTRA_CA_CERTS|OTHER)=" "/proc/$process/environ" | tr "\\0" "\\n"'
    const { output } = await shell.run(`for process in $PPID $$; do ${variables}; echo; done`)
    const [relay, command] = output.split('\n\n').map((text) => text.split('\n').sort())
    expect(relay).toEqual(['OTHER=x'])
    expect(command).toEqual(['NODE_EXTRA_CA_CERTS=/etc/no such file.pem', 'OTHER=x'])
  })

  it('passes exit codes, signals and time-outs through the relay', async () => {
    expect(await shell.run('exit 7')).toMatchObject({ exitCode: 7 })
    expect(await shell.run('kill -KILL $$')).toMatchObject({ exitCode: 137 })
    // A second SIGTERM, with which many programs stop without cleaning up, would run the trap again after the pause.
    const slowly = 'trap "echo bye; sleep 0.3; exit 3" TERM; echo ready; sleep 300 & wait'
    let ended: ShellOutcome
    // On a busy machine the limit can be over before the command has its trap.
    for (let timeoutMs = 500; ; timeoutMs *= 2) {
      ended = await shell.run(slowly, { timeoutMs })
      if (ended.output !== '' || timeoutMs > 60_000) break
    }
    expect(ended).toMatchObject({ timedOut: true, exitCode: 3, output: 'ready\nbye\n' })
  })
})
