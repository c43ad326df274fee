import { expect, it } from 'vitest'
import { loadConfig } from './load-config.js'
import { describeConfig, secretsOf } from './secrets.js'
import { sessionNetwork } from './session-network.js'

const load = (text: string, env: Readonly<Record<string, string>> = {}) =>
  loadConfig(text, { env, cwd: '/etc' })

it('reads the network settings of commands, with secrets from variables and files', async () => {
  const { config, warnings } = await load(
    `network {
      allow_hosts = ["a.example"]
      read_only = true
      git_fetch = true
      secret "a.example" { value = env("API_TOKEN") }
      secret "b.example:8443" { file = "token" header = "x-key" plain_http = true }
      limits { max_upload_bytes = 0 }
    }`,
    { API_TOKEN: 'value-of-the-token' },
  )
  expect(warnings).toEqual([])
  expect(sessionNetwork(config.network)).toEqual({
    allowHosts: ['a.example'],
    readOnly: true,
    gitFetch: true,
    secrets: [
      { host: 'a.example', header: 'authorization', value: 'Bearer value-of-the-token' },
      { host: 'b.example:8443', header: 'x-key', file: '/etc/token', prefix: '', plainHttp: true },
    ],
    limits: { maxUploadBytes: 0 },
  })
  expect(secretsOf(config)).toEqual(['value-of-the-token'])
  expect(JSON.stringify(describeConfig(config))).not.toContain('value-of-the-token')
})

it.each([
  ['has neither a value nor a file', 'secret "a.example" { header = "x-key" }'],
  ['names a variable that is not set', 'secret "a.example" { value = env("MISSING") }'],
  ['has both', 'secret "a.example" { value = "v" file = "f" }'],
  ['is for several hosts', 'secret "*.example" { value = "v" }'],
  ['sets a header that frames the message', 'secret "a.example" { value = "v" header = "content-length" }'],
  ['has a line break', 'secret "a.example" { value = "v\\nx: y" }'],
])('rejects a secret that %s', async (_, entry) => {
  await expect(load(`network { ${entry} }`)).rejects.toThrow(/network\.secrets/)
})
