import { describe, expect, it } from 'vitest'
import { ModelError } from './errors.js'
import { createModel, type ModelConfig } from './provider.js'

/** The request of a model to the network, answered with an error. */
async function asked(config: ModelConfig) {
  const seen: { url: string; authorization: string | null }[] = []
  const model = createModel({
    ...config,
    fetch: async (url, init) => {
      seen.push({ url: String(url), authorization: new Headers(init?.headers).get('authorization') })
      return new Response('no', { status: 400 })
    },
  })
  const error = await model
    .answer(
      { chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], documents: [], tools: [] },
      { signal: new AbortController().signal, on: () => undefined },
    )
    .then(() => undefined)
    .catch((thrown: unknown) => (thrown instanceof ModelError ? thrown : undefined))
  return { model, error, seen }
}

describe('a model by the name of its provider', () => {
  it.each([
    ['openai', 'https://api.openai.com/v1/chat/completions'],
    ['OpenAI', 'https://api.openai.com/v1/chat/completions'],
    ['deepseek', 'https://api.deepseek.com/v1/chat/completions'],
    ['groq', 'https://api.groq.com/openai/v1/chat/completions'],
    ['openrouter', 'https://openrouter.ai/api/v1/chat/completions'],
    ['ollama', 'http://127.0.0.1:11434/v1/chat/completions'],
    ['glm', 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
    ['kimi', 'https://api.moonshot.ai/v1/chat/completions'],
  ])('%s connects to %s', async (provider, url) => {
    const { seen } = await asked({ provider, id: 'm', apiKey: 'k' })
    expect(seen).toEqual([{ url, authorization: 'Bearer k' }])
  })

  it('that is not known uses chat completions at its base URL, with a key or without', async () => {
    const { seen } = await asked({ provider: 'acme', id: 'm', baseUrl: 'https://models.acme.test' })
    expect(seen).toEqual([{ url: 'https://models.acme.test/v1/chat/completions', authorization: null }])
  })

  it('on this machine needs no key', async () => {
    for (const baseUrl of ['http://localhost:9', 'http://127.0.0.1:9', 'http://[::1]:9']) {
      expect((await asked({ provider: 'openai', id: 'm', baseUrl })).seen).toHaveLength(1)
    }
  })

  it.each([
    [{ provider: 'openai' }, true],
    [{ provider: 'OpenAI', baseUrl: 'https://api.openai.com/v1/' }, true],
    [{ provider: 'anthropic' }, true],
    [{ provider: 'gemini' }, true],
    [{ provider: 'openai', baseUrl: 'http://127.0.0.1:9000/v1' }, undefined],
    [{ provider: 'openai', baseUrl: 'https://api.openai.com.example.org/v1' }, undefined],
    [{ provider: 'anthropic', baseUrl: 'https://proxy.example.org' }, undefined],
    [{ provider: 'groq' }, undefined],
    [{ provider: 'mine', baseUrl: 'http://127.0.0.1:9000' }, undefined],
    [{ provider: 'mine', baseUrl: 'http://127.0.0.1:9000', facts: { structuredOutput: true } }, true],
    [{ provider: 'openai', facts: { structuredOutput: false } }, false],
  ])('is known to have structured output only at the address of its provider: %j', (config, known) => {
    expect(createModel({ id: 'm', apiKey: 'k', ...config }).facts.structuredOutput).toBe(known)
  })

  it('has default facts, which the configuration overrides', () => {
    const price = { input: 1, output: 2 }
    const { facts } = createModel({ provider: 'openai', id: 'm', facts: { images: false }, price })
    expect(facts).toMatchObject({ contextTokens: 200_000, tools: true, images: false, price })
  })
})

describe('a missing setting is reported at the first call', () => {
  it.each<[string, ModelConfig, string, string[]]>([
    [
      'a key',
      { provider: 'openai', id: 'gpt-x' },
      'model_auth',
      ['openai/gpt-x', 'apiKey', 'OPENAI_API_KEY'],
    ],
    ['a key', { provider: 'anthropic', id: 'c', apiKey: ' ' }, 'model_auth', ['ANTHROPIC_API_KEY']],
    ['an address', { provider: 'acme', id: 'm', apiKey: 'k' }, 'model_unavailable', ['acme/m', 'baseUrl']],
    ['a real address', { provider: 'acme', id: 'm', baseUrl: 'acme:key' }, 'model_unavailable', ['https://']],
  ])('%s', async (_, config, code, words) => {
    const { error, seen } = await asked(config)
    expect(error?.code).toBe(code)
    for (const word of words) expect(error?.message).toContain(word)
    expect(seen).toEqual([])
  })
})
