import { describe, expect, it } from 'vitest'
import { loadConfig } from './load-config.js'
import { describeConfig, secretsOf } from './secrets.js'

const { config } = await loadConfig(
  {
    defaultModel: 'a/m',
    providers: {
      a: {
        apiKey: 'KEY',
        baseUrl: 'https://user:PASS%20WORD@host.test/v1?token=QUERY-TOKEN&n=1',
        headers: { authorization: 'Bearer HEADER-TOKEN', accept: '*/*' },
        models: [{ id: 'm', apiKey: 'MODEL-KEY' }],
      },
    },
    storageBackend: 'custom',
    storageUrl: 'postgres://me:DB-PASS@db.test/x',
    search: { engine: { ddg: { enabled: true } }, headless: { proxyUrl: 'http://PROXY-TOKEN@p.test' } },
    mcpServers: {
      files: {
        transport: 'stdio',
        command: 'node',
        args: ['--key', 'ARGUMENT'],
        env: { TOKEN: 'ENV-TOKEN', MODE: 'fast' },
        oauth: { clientId: 'me', clientSecret: 'CLIENT-SECRET', accessToken: 'ACCESS', scopes: ['all'] },
      },
    },
  },
  { env: {}, cwd: '/' },
)

describe('the secrets of a configuration', () => {
  it('are all found, the longest first, without short words of headers and variables', () => {
    const secrets = secretsOf(config)
    expect(secrets.toSorted()).toEqual(
      [
        ...[
          'KEY',
          'MODEL-KEY',
          'PASS%20WORD',
          'PASS WORD',
          'QUERY-TOKEN',
          'Bearer HEADER-TOKEN',
          'HEADER-TOKEN',
        ],
        ...['DB-PASS', 'PROXY-TOKEN', 'ENV-TOKEN', 'CLIENT-SECRET', 'ACCESS'],
      ].toSorted(),
    )
    expect(secrets.map(({ length }) => length)).toEqual(
      secrets.map(({ length }) => length).toSorted((a, b) => b - a),
    )
  })

  it('are not shown', () => {
    const shown = JSON.stringify(describeConfig(config))
    for (const secret of [...secretsOf(config), 'ARGUMENT']) expect(shown).not.toContain(secret)
    expect(describeConfig(config)).toMatchObject({
      defaultModel: 'a/m',
      providers: [
        {
          name: 'a',
          apiKey: '[hidden]',
          baseUrl: 'https://[hidden]@host.test/v1?[hidden]',
          headers: { authorization: '[hidden]', accept: '[hidden]' },
          models: [{ id: 'm', apiKey: '[hidden]' }],
        },
      ],
      storageUrl: 'postgres://[hidden]@db.test/x',
      search: { engine: { ddg: { enabled: true } } },
      mcpServers: [
        { name: 'files', command: 'node', args: ['[hidden]', '[hidden]'], oauth: { clientId: 'me' } },
      ],
    })
  })

  it('are found in addresses of every form', async () => {
    const shown = async (storageUrl: string) => {
      const loaded = await loadConfig({ storageBackend: 'custom', storageUrl }, { env: {}, cwd: '/' })
      return describeConfig(loaded.config)['storageUrl']
    }
    expect(await shown('https:\\\\u:PASS@h.test/x')).toBe('[hidden]')
    expect(await shown('host=h password=PASS')).toBe('[hidden]')
    expect(await shown('redis://:PASS@h.test:1/2#PASS')).toBe('redis://[hidden]@h.test:1/2')
    expect(await shown('s3://bucket/prefix')).toBe('s3://bucket/prefix')
  })

  it('are none when nothing is configured', async () => {
    const empty = await loadConfig('storage_url = "/a/b" max_tool_rounds = 3', { env: {}, cwd: '/' })
    expect(secretsOf(empty.config)).toEqual([])
    expect(describeConfig(empty.config)).toEqual(empty.config)
  })
})
