import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { bash, toolResults } from '../contract/open-session.js'
import { cert, key } from '../security/sandbox/support/git-https-server.js'
import { describeWithEachSandbox } from '../security/sandbox/support/needs-bubblewrap.js'
import { type Outcome, openPlace, type Place } from './drive.js'

const token = 't0ken-of-the-command-line-4711'
/** Not among the names that programs reach without a proxy. */
const address = '127.0.0.2'

describeWithEachSandbox('the network of commands, from options and configuration', (backend) => {
  let place: Place
  let host: string
  let served: string[]

  beforeEach(async () => {
    place = await openPlace()
    served = []
    const server = createServer({ key, cert }, (incoming, response) => {
      const { authorization = 'none', 'x-key': apiKey = 'none' } = incoming.headers
      served.push(`${incoming.method} ${authorization} ${apiKey}`)
      response.end(`you sent ${authorization} ${apiKey}`)
    })
    await new Promise<void>((resolve) => server.listen(0, address, resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    host = `${address}:${(server.address() as AddressInfo).port}`
    await writeFile(join(place.root, '../authority.pem'), cert)
  })

  /** Lets a model run the commands, with these options and this text in the configuration. */
  async function run(
    commands: readonly string[],
    options: readonly string[],
    network = '',
    env: Readonly<Record<string, string>> = {},
  ): Promise<Outcome & { readonly results: readonly string[]; readonly everything: string }> {
    const { server, flags } = await place.model([...commands.map((command) => bash(command)), 'done'])
    const opened = `network {\n  allow_private = ["${address}"]\n  certificates = "authority.pem"\n${network}}\n`
    appendFileSync(flags[1] ?? '', opened)
    const outcome = await place.run(
      ['run', ...flags, '--json', '--mode', 'full', '--sandbox', backend, ...options, 'go'],
      { env },
    )
    const results = toolResults(server, commands.length)
    const stored = readdirSync(place.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    const everything = [outcome.stdout, outcome.stderr, JSON.stringify(server.requests), ...stored].join('\n')
    return { ...outcome, results, everything }
  }

  it('adds the token of a variable to requests to one host, and shows it nowhere', async () => {
    const { results, everything } = await run(
      [`curl -sS https://${host}/; env; ps -ef`],
      ['--allow-host', host, '--host-secret', `${host}=env:API_TOKEN`],
      '',
      { API_TOKEN: token },
    )
    expect(served).toEqual([`GET Bearer ${token} none`])
    expect(results[0]).toContain('you sent *')
    expect(everything).toContain('network_request')
    expect(everything).not.toContain('t0ken')
    expect(everything).not.toContain('API_TOKEN')
  })

  it('reads the token from a file for each request, which no tool and no command can open', async () => {
    const file = join(place.root, 'token')
    await writeFile(file, ` ${token}\n`)
    const link = `ln -s token link; cat link token; cp token copy; cat copy; ln token hard; cat hard`
    const { results, everything } = await run(
      [`curl -sS https://${host}/`, link, `t=tok; cat $t''en; grep -r t0 .; true`],
      ['--allow-host', host, '--host-secret', `${host}/x-key=file:token`],
    )
    expect(served).toEqual([`GET none ${token}`])
    expect(results[0]).toContain('you sent none *')
    expect(everything).not.toContain('t0ken')
    expect(readFileSync(file, 'utf8')).toBe(` ${token}\n`)
  })

  it('allows only GET and HEAD to a read-only host', async () => {
    const { results } = await run(
      [`curl -sS https://${host}/`, `curl -sS -d x https://${host}/`, `curl -sS -X PUT https://${host}/`],
      ['--allow-host', host, '--read-only-host', '*'],
    )
    expect(served).toEqual(['GET none none'])
    expect(results[0]).toContain('you sent none none')
    expect(results[1]).toContain('read-only')
    expect(results[2]).toContain('read-only')
  })

  it('reads hosts, read-only hosts and secrets from the configuration, to which options add', async () => {
    const { everything } = await run(
      [`curl -sS https://${host}/`, `curl -sS -d x https://${host}/`],
      ['--read-only-host', 'other.example'],
      `  allow_hosts = ["${host}"]\n  read_only = ["${address}"]\n  secret "${host}" {\n    value = env("API_TOKEN")\n    header = "x-key"\n  }\n`,
      { API_TOKEN: token },
    )
    expect(served).toEqual([`GET none ${token}`])
    expect(everything).not.toContain('t0ken')
  })

  it.each([
    ['the secret itself', `a.example=${token}`],
    ['a variable that is not set', 'a.example=env:MISSING_TOKEN'],
    ['a pattern of hosts', '*.example=env:API_TOKEN'],
    ['a header that frames the message', 'a.example/content-length=env:API_TOKEN'],
  ])('rejects %s in --host-secret, and starts nothing', async (_, given) => {
    const { code, stdout, stderr } = await place.run(
      ['run', '--model', 'offline', '--allow-host', 'a.example', '--host-secret', given, 'go'],
      { env: { API_TOKEN: token } },
    )
    expect(code).toBe(2)
    expect(stderr).toMatch(/host-secret|network\.secrets/)
    expect(stdout + stderr).not.toContain('t0ken')
  })
})
