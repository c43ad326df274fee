import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createModel } from '../provider.js'
import { costOf } from '../usage.js'
import { catalogueEntries, catalogueEntry } from './catalogue.js'

describe('the model catalogue', () => {
  it('knows window, output, images, reasoning levels and prices of a usual model', () => {
    expect(catalogueEntry('openai', 'gpt-5-mini')).toEqual({
      provider: 'openai',
      id: 'gpt-5-mini',
      contextTokens: 400_000,
      outputTokens: 128_000,
      images: true,
      documents: true,
      audio: false,
      video: false,
      tools: true,
      structuredOutput: true,
      reasoningLevels: ['minimal', 'low', 'medium', 'high'],
      price: { input: 0.25, output: 2, cacheRead: 0.025 },
    })
  })

  it.each([
    ['google', 'gemini-2.5-pro', { images: true, documents: true, audio: true, video: true }],
    ['bedrock', 'amazon.nova-pro-v1:0', { images: true, documents: true, audio: false, video: true }],
    ['openrouter', 'openai/gpt-audio', { images: false, documents: false, audio: true, video: false }],
    ['openrouter', 'deepseek/deepseek-chat', { images: false, documents: false, audio: false, video: false }],
  ])('lists what %s/%s accepts besides text', (provider, id, inputs) => {
    expect(catalogueEntry(provider, id)).toMatchObject(inputs)
  })

  it.each([
    ['groq', 'openai/gpt-oss-120b', true],
    ['openrouter', 'anthropic/claude-sonnet-5', true],
    ['openai', 'gpt-5.4-pro', false],
    ['groq', 'llama-3.3-70b-versatile', false],
    ['openai', 'gpt-4-turbo', undefined],
  ])('says whether answers of %s/%s can follow a JSON Schema: %s', (provider, id, expected) => {
    expect(catalogueEntry(provider, id)?.structuredOutput).toBe(expected)
  })

  it.each([
    ['claude', 'claude-sonnet-4-5'],
    ['anthropic', 'claude-sonnet-4-5-latest'],
    ['anthropic', 'claude-sonnet-4-5@20250929'],
    ['Anthropic', 'claude-sonnet-4-5-20250101'],
  ])('finds %s/%s under the id that is listed', (provider, id) => {
    expect(catalogueEntry(provider, id)?.price).toEqual({
      input: 3,
      output: 15,
      cacheRead: 0.3,
      cacheWrite: 3.75,
    })
  })

  it('prefers the entry of a region, and falls back to the entry without one', () => {
    expect(catalogueEntry('bedrock', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0')?.price?.input).toBe(3.3)
    expect(catalogueEntry('bedrock', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0')?.price?.input).toBe(
      3,
    )
  })

  it('has no entry for a model, a provider or a property that is not listed', () => {
    expect(catalogueEntry('openai', 'gpt-5-mini-of-ours')).toBeUndefined()
    expect(catalogueEntry('openai', 'toString')).toBeUndefined()
    expect(catalogueEntry('my-gateway', 'gpt-5-mini')).toBeUndefined()
    expect(catalogueEntry('ollama', 'llama3')).toBeUndefined()
  })

  it('parses every line: positive limits, prices that are numbers, tiers above zero', () => {
    const entries = catalogueEntries()
    expect(entries.length).toBeGreaterThan(500)
    const isAmount = (amount: number | undefined): boolean => amount === undefined || amount >= 0
    const isLimit = (tokens: number | undefined): boolean => tokens === undefined || tokens > 0
    const wrong = entries.filter(({ contextTokens, outputTokens, price }) => {
      const prices = price === undefined ? [] : [price, ...(price.tiers ?? [])]
      return !(
        isLimit(contextTokens) &&
        isLimit(outputTokens) &&
        prices.every(({ input, output, cacheRead, cacheWrite }) =>
          [input, output, cacheRead, cacheWrite].every(isAmount),
        ) &&
        (price?.tiers ?? []).every(({ aboveInputTokens }) => aboveInputTokens > 0)
      )
    })
    expect(wrong).toEqual([])
  })

  it('adds less than 10 KB to the compressed package', () => {
    const source = readFileSync(join(import.meta.dirname, 'snapshot.ts'))
    expect(gzipSync(source, { level: 9 }).length).toBeLessThan(10_000)
  })

  it('equals the text that is stored next to it', () => {
    const text = readFileSync(join(import.meta.dirname, 'snapshot.txt'), 'utf8')
    const lines = text.split('\n').filter((line) => line !== '' && !/^[#[]/.test(line))
    expect(catalogueEntries().map(({ id }) => id)).toEqual(lines.map((line) => line.split(' ')[0]))
  })
})

describe('a created model', () => {
  it('has the facts of the catalogue, and the configuration takes precedence', () => {
    const { facts } = createModel({ provider: 'anthropic', id: 'claude-sonnet-4-5' })
    expect(facts).toMatchObject({
      contextTokens: 200_000,
      outputTokens: 64_000,
      reasoning: true,
      price: { input: 3 },
    })
    expect(facts.contextAssumed).toBeUndefined()
    const own = createModel({
      provider: 'anthropic',
      id: 'claude-sonnet-4-5',
      facts: { contextTokens: 50_000, reasoning: false },
      price: { input: 1, output: 2 },
    })
    expect(own.facts).toMatchObject({
      contextTokens: 50_000,
      reasoning: false,
      price: { input: 1, output: 2 },
    })
  })

  it.each([
    [{ provider: 'groq', id: 'openai/gpt-oss-120b' }, true],
    [{ provider: 'groq', id: 'llama-3.3-70b-versatile' }, undefined],
    [{ provider: 'groq', id: 'not-listed' }, undefined],
    [{ provider: 'groq', id: 'openai/gpt-oss-120b', baseUrl: 'http://127.0.0.1:9/v1' }, undefined],
    [{ provider: 'groq', id: 'not-listed', facts: { structuredOutput: true } }, true],
    [{ provider: 'openai', id: 'gpt-5-mini' }, true],
    [{ provider: 'openai', id: 'gpt-5.4-pro' }, undefined],
    [{ provider: 'openai', id: 'not-listed' }, true],
    // Its API has no schemas, only JSON.
    [{ provider: 'deepseek', id: 'deepseek-flash' }, undefined],
  ])('%j uses structured output of its provider: %s', (config, expected) => {
    expect(createModel(config).facts.structuredOutput).toBe(expected)
  })

  it('marks its window as assumed and has no price when nothing is known about it', () => {
    const { facts } = createModel({ provider: 'vllm', id: 'some-model' })
    expect(facts).toMatchObject({ contextTokens: 200_000, contextAssumed: true })
    expect(facts.price).toBeUndefined()
  })
})

describe('prices with tiers', () => {
  const price = {
    input: 1,
    output: 10,
    tiers: [
      { aboveInputTokens: 500_000, input: 4, output: 40 },
      { aboveInputTokens: 200_000, input: 2, output: 20 },
    ],
  }
  it.each([
    [200_000, 0.2 + 1],
    [200_001, 0.400_002 + 2],
    [600_000, 2.4 + 4],
  ])('a request of %i input tokens costs %d dollars', (inputTokens, dollars) => {
    const usage = { inputTokens, outputTokens: 100_000, totalTokens: inputTokens + 100_000 }
    expect(costOf(usage, price)).toBeCloseTo(dollars, 9)
  })
})
