import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { ConfigError } from './config-error.js'
import type { AgentConfigInput } from './config-input.js'
import { type LoadConfigOptions, type LoadedConfig, loadConfig } from './load-config.js'

const folder = sharedDirectory()

const env = { KEY: 'from-the-environment', EMPTY: '' }
const load = (source: string | object, options: LoadConfigOptions = {}): Promise<LoadedConfig> =>
  loadConfig(source as string | AgentConfigInput, { env, cwd: folder, ...options })

async function refusal(source: string | object, options?: LoadConfigOptions): Promise<ConfigError> {
  const thrown = await load(source, options).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown instanceof ConfigError) return thrown
  throw new Error('it was loaded, or something else was thrown', { cause: thrown })
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

describe('a configuration', () => {
  it('is the same when it is given as ACL, as a file, or as an object', async () => {
    const acl = `
      default_model = "openai/a"
      providers "openai" {
        apiKey = env("KEY")
        base_url: "http://127.0.0.1:9000"
        headers = { "x-team" = "red", accept: "*/*" }
        models "a" { name = "A" tool_call = true limit { context = 1000 output = 100 } cost = { input = 1, output = 2, cache_read = 0.1 } }
        models "c" {}
        models "b" { max_tokens = 5 max_context_tokens = 50 modalities = { input = ["text", "image"] } }
      }
      storage_backend = "file" storage_url = "store"
      skills = "skills" agent_dirs = ["one", "/two"]
      auto_delegation { enabled = true parallel = false min_confidence = 0.5 }
      api_timeout_ms = 1000
      memory { prune { max_items = 3 } relevance { decay_days = 1.5 } }
      queue { lane_handlers { execute { mode = "external" timeout_ms = 10 } } lane_timeouts = { query = 5 } }
      search { engine { ddg { enabled = true weight = 0.5 } } }
      mcp_server "files" { command = "node" args = ["server.mjs"] env = { TOKEN = env("KEY") } }
      mcpServers "web" { transport = "streamable_http" url = "https://example.test/mcp" }
    `
    const object: AgentConfigInput = {
      defaultModel: 'openai/a',
      providers: {
        openai: {
          apiKey: env.KEY,
          baseUrl: 'http://127.0.0.1:9000',
          headers: { 'x-team': 'red', accept: '*/*', 'x-left-out': undefined },
          models: [
            {
              id: 'a',
              name: 'A',
              toolCall: true,
              limit: { context: 1000, output: 100 },
              cost: { input: 1, output: 2, cacheRead: 0.1 },
            },
            'c',
            { id: 'b', outputTokens: 5, contextTokens: 50, modalities: { input: ['text', 'image'] } },
          ],
        },
      },
      storageBackend: 'file',
      storageUrl: 'store',
      skillDirs: 'skills',
      agentDirs: ['one', '/two'],
      autoDelegation: { enabled: true, autoParallel: false, minConfidence: 0.5 },
      llmApiTimeoutMs: 1000,
      memory: { prunePolicy: { maxItems: 3 }, relevance: { decayDays: 1.5 } },
      queue: { laneHandlers: { execute: { mode: 'external', timeoutMs: 10 } }, laneTimeouts: { query: 5 } },
      search: { engine: { ddg: { enabled: true, weight: 0.5 } } },
      mcpServers: [
        { name: 'files', transport: 'stdio', command: 'node', args: ['server.mjs'], env: { TOKEN: env.KEY } },
        { name: 'web', transport: 'streamable-http', url: 'https://example.test/mcp' },
      ],
      thinkingBudget: undefined,
    }
    const fromText = await load(acl)
    expect(fromText.warnings).toEqual([])
    expect(fromText.config).toMatchObject({
      providers: [
        {
          name: 'openai',
          models: [{ id: 'a', contextTokens: 1000 }, { id: 'c' }, { id: 'b', outputTokens: 5 }],
        },
      ],
      storageUrl: join(folder, 'store'),
      skillDirs: [join(folder, 'skills')],
      agentDirs: [join(folder, 'one'), '/two'],
      llmApiTimeoutMs: 1000,
    })
    expect(await load(object)).toEqual(fromText)
    expect(await load(file('agent.acl', acl))).toEqual(fromText)
    expect(await load('agent.acl')).toEqual(fromText)
  })

  it('accepts ACL names in an object, and object names in ACL', async () => {
    const snake = await load({
      max_tool_rounds: 3,
      providers: { a: { api_key: 'k', models: ['m'] } },
      default_model: 'a/m',
    })
    const camel = await load(
      'maxToolRounds = 3 providers "a" { apiKey = "k" models "m" {} } defaultModel = "a/m"',
    )
    expect(snake).toEqual(camel)
    expect(snake.warnings).toEqual([])
  })

  it('resolves the paths of a file from its directory, and those of a text from the working directory', async () => {
    mkdirSync(join(folder, 'deep'))
    const text = 'sessions_dir = "s" memory_dir = "~/m" user_instructions_dir = "file:///u"'
    file('deep/agent.acl', text)
    const options = { env: { HOME: '/home/me' } }
    const places = { memoryDir: '/home/me/m', userInstructionsDir: '/u' }
    expect((await load('deep/agent.acl', options)).config).toMatchObject({
      sessionsDir: join(folder, 'deep/s'),
      ...places,
    })
    expect((await load(text, options)).config).toMatchObject({ sessionsDir: join(folder, 's'), ...places })
  })

  it('does not change a storage address, which each store interprets', async () => {
    const urlOf = async (text: string) => (await load(text)).config.storageUrl
    expect(await urlOf('storage_backend = "file" storage_url = "file:///tmp/x"')).toBe('/tmp/x')
    expect(await urlOf('storage_url = "postgres://u@h/db"')).toBe('postgres://u@h/db')
    expect(await urlOf('storage_backend = "sqlite" storage_url = ":memory:"')).toBe(':memory:')
    expect(await urlOf('storage_backend = "custom" storage_url = "anything"')).toBe('anything')
    await expect(urlOf('storage_url = "file://elsewhere/x"')).rejects.toThrow(
      'line 1, column 1: storage_url must be',
    )
  })

  it('can be empty', async () => {
    const empty = { config: { providers: [], mcpServers: [] }, warnings: [] }
    expect(await load('')).toEqual(empty)
    expect(await load({})).toEqual(empty)
  })
})

describe('the source of a configuration', () => {
  it('is the file of a path, and a missing file is an error', async () => {
    expect((await refusal('nothing.acl')).message).toBe(
      'Failed to read config file nothing.acl: the file does not exist',
    )
    mkdirSync(join(folder, 'folder.acl'))
    expect((await refusal('folder.acl')).message).toBe(
      'Failed to read config file folder.acl: it is not a regular file',
    )
    file('latin.acl', new Uint8Array([0x23, 0xe9, 0x0a]))
    expect((await refusal('latin.acl')).message).toBe(
      'Failed to read config file latin.acl: it is not UTF-8 text',
    )
    file('large.acl', '#'.repeat(1024 * 1024 + 1))
    expect((await refusal('large.acl')).message).toBe(
      'Failed to read config file large.acl: it is larger than 1 MiB',
    )
  })

  it.skipIf(process.platform === 'win32')('is never a pipe, because reading it could block', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe.acl')])
    expect((await refusal('pipe.acl')).message).toMatch('it is not a regular file')
  })

  it('is a text when only a line of it ends like a path', async () => {
    expect((await load('max_tool_rounds = 1 # as in other.acl')).config.maxToolRounds).toBe(1)
    expect((await load('max_tool_rounds = 1 # as in other.json')).config.maxToolRounds).toBe(1)
    expect((await load(`max_tool_rounds = 1 # ${'long'.repeat(200)}.acl`)).config.maxToolRounds).toBe(1)
    expect((await refusal('api_key: "sk-secret // x.acl')).message).not.toMatch('sk-secret')
  })

  it('is named in errors and warnings', async () => {
    file('broken.acl', 'a = ')
    expect((await refusal('broken.acl')).message).toMatch(
      /^Failed to parse ACL config broken\.acl: line 1, column 5: /,
    )
    file('wrong.acl', 'max_tool_rounds = 0')
    expect((await refusal('wrong.acl')).message).toMatch(
      /^Invalid configuration in wrong\.acl: line 1, column 19: /,
    )
  })

  it('is read with the function of the host when there is one', async () => {
    const read: string[] = []
    const readFile = async (path: string) => {
      read.push(path)
      return 'max_tool_rounds = 7'
    }
    expect((await load('x/y.acl', { readFile })).config.maxToolRounds).toBe(7)
    expect(read).toEqual([join(folder, 'x/y.acl')])
  })

  it.each(['{ "apiKey": "sk-secret" }', ' {"a":', '[1]', '\ufeff{}', 'config.json'])(
    'is not JSON (%j): the error shows the ACL form',
    async (source) => {
      const { message } = await refusal(source)
      expect(message).toMatch('Write it as ACL')
      expect(message).toMatch('providers "provider" {')
      expect(message).not.toMatch('sk-secret')
    },
  )

  it('is not HCL', async () => {
    expect((await refusal('agent.hcl')).message).toMatch('in a file that ends in .acl')
  })

  it.each([42, null, [1], () => 1, new Map(), Promise.resolve({})])('is not %o', async (source) => {
    expect((await refusal(source as object)).message).toMatch(
      'must be ACL text, the path of an .acl file, or a plain object',
    )
  })
})

describe('an error in a configuration', () => {
  const refused: [source: string | object, ...problems: string[]][] = [
    [
      'providers { }',
      'line 1, column 1: providers block requires a label (e.g., providers "openai" { ... })',
    ],
    [
      'providers "" { }',
      'line 1, column 1: providers block requires a label (e.g., providers "openai" { ... })',
    ],
    ['providers "a" "b" {}', 'line 1, column 1: providers takes one label, found 2'],
    [
      'providers "a" {\n  models { }\n}',
      'line 2, column 3: models block requires a label (e.g., models "gpt-4" { ... })',
    ],
    [
      'mcp_server { command = "x" }',
      'line 1, column 1: mcp_server block requires a label (e.g., mcp_server "files" { ... })',
    ],
    [
      'storage_backend = "oracle"',
      'line 1, column 19: storage_backend must be one of "memory", "file", "sqlite", "postgres" or "custom"; this string is not',
    ],
    [
      'storage_backend = 1',
      'line 1, column 19: storage_backend must be one of "memory", "file", "sqlite", "postgres" or "custom", found a number',
    ],
    [
      'max_tool_rounds = 0',
      'line 1, column 19: max_tool_rounds must be a positive whole number; this number is not',
    ],
    [
      'max_tool_rounds = 1.5',
      'line 1, column 19: max_tool_rounds must be a positive whole number; this number is not',
    ],
    [
      'max_tool_rounds = "1"',
      'line 1, column 19: max_tool_rounds must be a positive whole number, found a string',
    ],
    [
      'auto_delegation { min_confidence = 1.1 }',
      'line 1, column 36: auto_delegation.min_confidence must be a number from 0 to 1; this number is not',
    ],
    ['auto_parallel = 1', 'line 1, column 17: auto_parallel must be true or false, found a number'],
    ['skill_dirs = [1]', 'line 1, column 15: skill_dirs[0] must be a path in quotes, found a number'],
    ['skill_dirs = ["a", null]', 'line 1, column 20: skill_dirs[1] must be a path in quotes, found null'],
    ['skill_dirs = ""', 'line 1, column 14: skill_dirs must be a path in quotes; this string is not'],
    ['memory = 1', 'line 1, column 10: memory must be a block or an object, found a number'],
    ['memory "x" {}', 'line 1, column 1: memory takes no label'],
    ['sessions_dir { a = 1 }', 'line 1, column 14: sessions_dir must be a path in quotes, found an object'],
    [
      'default_model = "gpt"',
      'line 1, column 17: default_model must be a string of the form "provider/model"; this string is not',
    ],
    [
      'providers "a" { base_url = "localhost:1" }',
      'line 1, column 28: providers.base_url must be a URL in quotes that starts with http:// or https://; this string is not',
    ],
    [
      'providers "a" { headers = { "a b" = "x" } }',
      'line 1, column 27: providers.headers contains characters that an HTTP header cannot have',
    ],
    [
      'providers "a" { headers = { a = "x\\r\\nb: 1" } }',
      'line 1, column 27: providers.headers contains characters that an HTTP header cannot have',
    ],
    [
      'providers "a" { headers = { __proto__ = "x" } }',
      'line 1, column 29: providers.headers has a field with an invalid name',
    ],
    [
      'providers "a" { headers = { a = 1 } }',
      'line 1, column 33: providers.headers must be a string in quotes, found a number',
    ],
    [
      'providers "a" { models "m" { cost = { input = 1 } } }',
      'line 1, column 17: providers.models.cost needs both "input" and "output"; remove cost if they are not known',
    ],
    [
      'providers = 1',
      'line 1, column 13: providers must be a block with a label, an object of objects, or a list of objects with "name", found a number',
    ],
    [
      'providers = [{ api_key = "k" }]',
      'line 1, column 14: providers[0] requires "name", a string that is not empty',
    ],
    [
      'queue { lane_handlers { execute { mode = "far" } } }',
      'line 1, column 42: queue.lane_handlers.execute.mode must be one of "internal", "external" or "hybrid"; this string is not',
    ],
    ['mcp_servers "a" { }', 'line 1, column 1: mcp_servers: "command" is required for the transport "stdio"'],
    [
      'mcp_servers "a" { transport = "http" command = "x" }',
      'line 1, column 1: mcp_servers: "url" is required for the transport "http"',
    ],
    [
      'thinking_budget = size("x")',
      'line 1, column 19: thinking_budget calls "size": env("NAME") is the only function',
    ],
    [
      'thinking_budget = enw("x")',
      'line 1, column 19: thinking_budget calls "enw": env("NAME") is the only function; did you mean "env"?',
    ],
    [
      'memory_dir = env()',
      'line 1, column 14: memory_dir calls env without one name in quotes: write env("NAME")',
    ],
    [
      'memory_dir = env("A", "B")',
      'line 1, column 14: memory_dir calls env without one name in quotes: write env("NAME")',
    ],
    [
      'max_tool_rounds = 0\n\nqueue = 1\nmemory {\n max_working = -1 }',
      'line 1, column 19: max_tool_rounds must be a positive whole number; this number is not',
      'line 3, column 9: queue must be a block or an object, found a number',
      'line 5, column 16: memory.max_working must be a whole number of at least 0; this number is not',
    ],
    [
      { providers: { openai: { models: [{ id: 'a', limit: { context: -1 } }] } } },
      'providers.openai.models[0].limit.context must be a positive whole number; this number is not',
    ],
    [
      { providers: { openai: { models: { a: { limit: 3 } } } } },
      'providers.openai.models.a.limit must be a block or an object, found a number',
    ],
    [{ providers: [{ apiKey: 'k' }] }, 'providers[0] requires "name", a string that is not empty'],
    [{ providers: { a: 'x' } }, 'providers.a must be a block or an object, found a string'],
    [
      { providers: { a: { headers: { h: 1 } } } },
      'providers.a.headers.h must be a string in quotes, found a number',
    ],
    [
      { maxToolRounds: Number.NaN },
      'maxToolRounds must be a positive whole number, found a number that is not finite',
    ],
    [{ memory: () => 1 }, 'memory must be a block or an object, found a function'],
    [{ memory: new Date(0) }, 'memory must be a block or an object, found an object that is not plain'],
  ]
  it.each(refused)('is reported with its position: %j', async (source, ...problems) => {
    const error = await refusal(source)
    const reported = error.problems.map(({ message, line, column }) =>
      line === undefined ? message : `line ${line}, column ${column}: ${message}`,
    )
    expect(reported).toEqual(problems)
    for (const problem of problems) expect(error.message).toContain(problem)
    expect(error).toMatchObject({ code: 'config_error', name: 'ConfigError' })
    expect([error.line, error.column]).toEqual([error.problems[0]?.line, error.problems[0]?.column])
  })

  it('is reported for an object that is too deep, too large, or has members that cannot be read', async () => {
    const ring: Record<string, unknown> = {}
    ring['memory'] = ring
    expect((await refusal(ring)).message).toMatch('nested deeper than 64 levels')
    expect((await refusal({ skillDirs: Array.from({ length: 10_001 }, () => 'x') })).message).toBe(
      'skillDirs has more than 10000 items',
    )
    const trap = Object.defineProperty({}, 'memory', {
      enumerable: true,
      get: () => {
        throw new Error('sk-secret')
      },
    })
    expect((await refusal(trap)).message).toBe(
      'The configuration cannot be read: one of its getters or proxies throws',
    )
  })
})

describe('a configuration warning', () => {
  const warned: [source: string | object, ...warnings: string[]][] = [
    [
      'max_tool_round = 1',
      'line 1, column 1: unknown field "max_tool_round" is ignored; did you mean "max_tool_rounds"?',
    ],
    [
      'maxToolRound = 1',
      'line 1, column 1: unknown field "maxToolRound" is ignored; did you mean "maxToolRounds"?',
    ],
    ['something_else {\n}', 'line 1, column 1: unknown field "something_else" is ignored'],
    ['x9f8a7b6c = 1', 'line 1, column 1: unknown field is ignored'],
    [
      'memory {\n  max_workin = 1\n}',
      'line 2, column 3: unknown field "max_workin" in memory is ignored; did you mean "max_working"?',
    ],
    [
      { memory: { maxWorkin: 1 } },
      'unknown field "maxWorkin" in memory is ignored; did you mean "maxWorking"?',
    ],
    [
      'max_tool_rounds = 1\nmaxToolRounds = 2',
      'line 2, column 1: maxToolRounds is given 2 times; the last one is used',
    ],
    [
      'memory_dir = env("NOT_SET")',
      'line 1, column 14: memory_dir has no value: the environment variable of env() is not set or empty',
    ],
    [
      'memory_dir = env("EMPTY")',
      'line 1, column 14: memory_dir has no value: the environment variable of env() is not set or empty',
    ],
    [
      'memory_dir = env("constructor")',
      'line 1, column 14: memory_dir has no value: the environment variable of env() is not set or empty',
    ],
    [
      'skill_dirs = ["a", env("NOT_SET")]',
      'line 1, column 20: skill_dirs[1] has no value: the environment variable of env() is not set or empty',
    ],
    [
      'mcp_server "a" { url = env("NOT_SET") }',
      'line 1, column 24: mcp_server.url has no value: the environment variable of env() is not set or empty',
    ],
    ['providers "a" { models "m" {} }', 'default_model is not set; the first declared model is used: "a/m"'],
    [
      'default_model = "a/n" providers "a" { models "m" {} }',
      'line 1, column 1: default_model names a model that is not declared under providers',
    ],
    [
      'providers "a" {}\nproviders "a" {}',
      'line 2, column 1: providers declares a name twice; the last one, here, is used',
    ],
    [
      'default_model = "a/m" providers "a" { models "m" { max_tokens = 1 limit = { output = 2 } } }',
      'line 1, column 39: providers.models gives limit.output and another value for it; limit.output is used',
    ],
  ]
  it.each(warned)('is reported for %j', async (source, ...warnings) => {
    expect((await load(source)).warnings).toEqual(warnings)
  })

  it('says that the last value is used', async () => {
    expect((await load('max_tool_rounds = 1 maxToolRounds = 2')).config.maxToolRounds).toBe(2)
    expect((await load('skill_dirs = ["a", env("NOT_SET")]')).config).not.toHaveProperty('skillDirs')
    expect(
      (await load('providers "a" { headers = { x = env("NOT_SET") y = "z" } }')).config.providers[0]?.headers,
    ).toEqual({ y: 'z' })
    expect((await load('memory_dir = null')).warnings).toEqual([])
    expect((await load('default_model "a/m" {}')).config.defaultModel).toBe('a/m')
    expect((await load('mcp_server "a" { url = "http://h" }')).config.mcpServers[0]?.transport).toBe(
      'streamable-http',
    )
  })
})

describe('a document with errors everywhere', () => {
  it('is reported in a short message', async () => {
    const read = (size: number): Promise<LoadedConfig> => {
      const unknown = Array.from({ length: size }, (_, at) => `max_tool_rund${at}=1\n`).join('')
      return load(Array.from({ length: 4 }, (_, at) => `providers "p${at}" {${unknown}}\n`).join(''))
    }
    const { warnings } = await read(9999)
    expect(warnings).toHaveLength(101)
    expect(warnings.at(-1)).toBe('more warnings are not shown')
    const error = await refusal(`max_tool_rounds = 0\nskills = [${'1,'.repeat(9999)}]`)
    expect(error.problems).toHaveLength(100)
    expect(error.message.split('\n')).toHaveLength(22)
  })
})

describe('for any configuration', () => {
  it('loading ends, and rejects only with a ConfigError', async () => {
    const word = fc.constantFrom(
      'providers',
      'models',
      'memory',
      'api_key',
      'limit',
      'env',
      'headers',
      'queue',
      'skills',
      '"x"',
      '{',
      '}',
      '=',
      '[',
      ']',
      '(',
      ')',
      '1',
      'true',
      '\n',
      ',',
    )
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 60 }),
      fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          text,
          fc.object({
            key: fc.constantFrom('providers', 'models', 'memory', 'a', '__proto__', 'limit', 'name'),
            maxDepth: 4,
          }),
        ),
        async (source) => {
          await load(source).catch((error: unknown) => expect(error).toBeInstanceOf(ConfigError))
        },
      ),
      { numRuns: propertyRuns(300) },
    )
  })

  it('no secret of a document is repeated in a message', async () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9_-]{16,24}$/).filter((text) => /\d/.test(text))
    const template = fc.constantFrom(
      'providers "a" {\n  api_key = S\n  models "m" {}\n}',
      'providers S { models S { limit = { context = S } } }\ndefault_model = S',
      'providers "a" { headers = { S = 1, "x" = S } models "m" { cost = S } }\nS = 1',
      'mcp_servers "a" { transport = S url = S env = { "T" = S } args = [S, 1] oauth { client_secret = S } }',
      'storage_backend = S\nstorage_url = S\nqueue { lane_handlers { execute { mode = S } } }\nskills = env(S)\nos = S',
      'api_key = S {\n',
      'memory S { S }\nmemory_dir = f(S)',
    )
    const fault = fc.constantFrom('', '"', "'", '\\', '{', '}', '@', '[', '=', '/', '/*', '\n', 'x ', ' " ')
    await fc.assert(
      fc.asyncProperty(
        template,
        secret,
        fault,
        fc.nat(),
        fc.constantFrom('"', "'", ''),
        async (document, hidden, broken, at, quote) => {
          const source = document.replaceAll('S', `${quote}${hidden}${quote}`)
          const cut = at % (source.length + 1)
          const text = source.slice(0, cut) + broken + source.slice(cut)
          const said = await load(text).then(
            // A document that is read says which model it chose: its label is a name then.
            ({ warnings }) => warnings.filter((each) => !/^default_model is not set/.test(each)).join('\n'),
            (error: unknown) =>
              error instanceof ConfigError ? `${error.stack}${JSON.stringify(error)}` : 'something else',
          )
          // A fault that cuts the secret in two leaves halves, each as secret as the whole.
          const inside = text.indexOf(hidden) < 0 ? [hidden.slice(0, 8), hidden.slice(-8)] : [hidden]
          for (const piece of inside) expect(said).not.toContain(piece)
        },
      ),
      { numRuns: propertyRuns(1_500) },
    )
  })
})
