import { describe, expect, it } from 'vitest'
import { ConfigError } from './config-error.js'
import { loadConfig } from './load-config.js'
import { resolveModel } from './resolve-model.js'

const { config } = await loadConfig(
  `default_model = "openai/gpt-4"
  providers "openai" {
    api_key = "outer" base_url = "https://outer.test/v1" session_id_header = "x-session"
    proxy = "http://proxy.test:3128" ca_file = "company.pem"
    headers = { "X-Team" = "red", "x-kept" = "1" }
    models "gpt-4" {}
    models "org/large" {
      name = "Large" api = "responses" api_key = "inner" base_url = "https://inner.test" session_id_header = "x-inner" proxy = "off"
      headers = { "x-team" = "blue" }
      tool_call = false reasoning = true temperature = false
      limit = { context = 1000, output = 10 } cost = { input = 1, output = 2, cache_write = 3 }
      attachment = true modalities = { input = ["text", "pdf"] }
    }
    models "eyes" { attachment = true }
  }
  providers "empty" {}`,
  { env: {}, cwd: '/' },
)

describe('a model by its name', () => {
  it('has the settings of its provider', () => {
    expect(resolveModel(config, 'openai/gpt-4')).toEqual({
      provider: 'openai',
      id: 'gpt-4',
      apiKey: 'outer',
      baseUrl: 'https://outer.test/v1',
      proxy: 'http://proxy.test:3128',
      caFile: '/company.pem',
      sessionIdHeader: 'x-session',
      headers: { 'X-Team': 'red', 'x-kept': '1' },
    })
  })

  it('overrides them with its own; the name of the provider ends at the first slash', () => {
    expect(resolveModel(config, 'openai/org/large')).toEqual({
      provider: 'openai',
      id: 'org/large',
      name: 'Large',
      api: 'responses',
      apiKey: 'inner',
      baseUrl: 'https://inner.test',
      proxy: 'off',
      caFile: '/company.pem',
      sessionIdHeader: 'x-inner',
      headers: { 'x-kept': '1', 'x-team': 'blue' },
      facts: {
        contextTokens: 1000,
        outputTokens: 10,
        tools: false,
        reasoning: true,
        temperature: false,
        images: false,
        documents: true,
        audio: false,
        video: false,
      },
      price: { input: 1, output: 2, cacheWrite: 3 },
    })
    expect(resolveModel(config, 'openai/eyes').facts).toEqual({ images: true, documents: true })
  })

  it('is the default one when no name is given', () => {
    expect(resolveModel(config).id).toBe('gpt-4')
    expect(() => resolveModel({ providers: [], mcpServers: [] })).toThrow('No model is configured')
  })

  const refused: [name: string, message: string][] = [
    [
      'openai/gpt-5',
      'Model "openai/gpt-5" is not declared under provider "openai"; did you mean "gpt-4"? Declared models: "gpt-4", "org/large", "eyes"',
    ],
    [
      'openai/claude',
      'Model "openai/claude" is not declared under provider "openai". Declared models: "gpt-4", "org/large", "eyes"',
    ],
    [
      'opanai/gpt-4',
      'Model "opanai/gpt-4": provider "opanai" is not declared; did you mean "openai"? Declared providers: "openai", "empty"',
    ],
    ['empty/m', 'Model "empty/m" is not declared under provider "empty": no models are declared'],
    ['gpt-4', 'Model "gpt-4" must be written as "provider/model"; did you mean "openai/gpt-4"?'],
    ['openai/', 'Model "openai/" must be written as "provider/model"'],
    ['/gpt-4', 'Model "/gpt-4" must be written as "provider/model"'],
  ]
  it.each(refused)('is rejected when it is not declared: %s', (name, message) => {
    expect(() => resolveModel(config, name)).toThrow(new ConfigError(message))
  })
})
