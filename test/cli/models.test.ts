import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startModelServer } from '../../src/testing/index.js'
import { openPlace, type Place } from './drive.js'

/** A server in place of OpenAI's, at the provider's own address: prices count only there. */
async function withModel(place: Place, id: string): Promise<string[]> {
  const server = await startModelServer(() => ({
    text: 'Done.',
    usage: { inputTokens: 1_000_000, outputTokens: 100_000 },
  }))
  onTestFinished(() => server.close())
  const { fetch } = globalThis
  const redirected: typeof fetch = (input, init) =>
    fetch(String(input).replace('https://api.openai.com', server.url), init)
  vi.stubGlobal('fetch', redirected)
  onTestFinished(() => void vi.unstubAllGlobals())
  const config = join(place.home, '..', 'openai.acl')
  writeFileSync(
    config,
    `default_model = "openai/${id}"\nproviders "openai" {\n  api_key = "test"\n  models "${id}" {}\n}\n`,
  )
  return ['--config', config]
}

describe('capstan models', () => {
  it('lists models with window, output limit, prices and abilities', async () => {
    const { run } = await openPlace()
    const { code, stdout } = await run(['models', '--provider', 'openai', 'gpt-5-mini'])
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'model              context  output  input / output $ per 1M  abilities',
        'openai/gpt-5-mini  400k     128k    0.25 / 2                 images, pdf, reasoning (minimal, low, medium, high)',
        '',
      ].join('\n'),
    )
  })

  it('filters by words, provider, abilities and window', async () => {
    const { run } = await openPlace()
    const names = async (...argv: string[]): Promise<string[]> => {
      const { stdout } = await run(['models', '--json', ...argv])
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).name)
    }
    const all = await names()
    const reasoning = await names('--provider', 'openai', '--reasoning')
    expect(all.length).toBeGreaterThan(500)
    expect(reasoning).toContain('openai/gpt-5')
    expect(reasoning).not.toContain('openai/gpt-4.1')
    expect(reasoning.every((name) => name.startsWith('openai/'))).toBe(true)
    expect(await names('--min-context', '1000000', '--images', '4.1', '--provider', 'openai')).toEqual([
      'openai/gpt-4.1',
      'openai/gpt-4.1-mini',
      'openai/gpt-4.1-nano',
    ])
  })

  it('lists models of the configuration first, with its prices instead of the catalogue, and says what is unknown', async () => {
    const place = await openPlace()
    const config = join(place.home, '..', 'own.acl')
    writeFileSync(
      config,
      `providers "openai" {\n  models "gpt-5-mini" { cost = { input = 7, output = 9 } }\n}\nproviders "vllm" {\n  models "tiny" {}\n}\n`,
    )
    const { stdout } = await place.run(['models', '--config', config, '--configured'])
    expect(stdout.split('\n').slice(1)).toEqual([
      'openai/gpt-5-mini  400k     128k     7 / 9                    images, pdf, reasoning (minimal, low, medium, high)',
      'vllm/tiny          unknown  unknown  unknown                  unknown',
      '',
    ])
    const every = (await place.run(['models', '--config', config, '--json', 'gpt-5-mini'])).stdout
    expect(every.split('\n').filter((line) => line.includes('"openai/gpt-5-mini"'))).toHaveLength(1)
  })

  it('does not let one long name move the other columns, and omits columns when a terminal is narrow', async () => {
    const place = await openPlace()
    const config = join(place.home, '..', 'long.acl')
    const long = `m-${'x'.repeat(60)}`
    writeFileSync(config, `providers "openai" {\n  models "gpt-5-mini" {}\n  models "${long}" {}\n}\n`)
    const argv = ['models', '--config', config, '--configured']
    const piped = (await place.run(argv)).stdout.split('\n')
    expect(piped[1]).toMatch(
      /^openai\/gpt-5-mini {2}400k .* images, pdf, reasoning \(minimal, low, medium, high\)$/,
    )
    expect(piped[2]).toBe(`openai/${long}  unknown  unknown  unknown                  unknown`)
    const shown = (await place.run(argv, { isTTY: { stdout: true } })).stdout.split('\n')
    expect(shown[0]).toContain('model              context  input / output $ per 1M')
    expect(shown[1]).toBe('openai/gpt-5-mini  400k     0.25 / 2')
    const one = [...argv, 'gpt-5-mini']
    const narrower = (await place.run(one, { isTTY: { stdout: true } })).stdout.split('\n')
    expect(narrower[1]).toMatch(/ images, reasoning$/)
    expect(narrower[1]?.length).toBeLessThanOrEqual(80)
  })

  it('fails with a message when no model matches', async () => {
    const { run } = await openPlace()
    const { code, stdout, stderr } = await run(['models', 'no-such-model'])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('No model matches.')
  })
})

describe('a run with a model of the catalogue', () => {
  it('states its cost without any configured price', async () => {
    const place = await openPlace()
    const flags = await withModel(place, 'gpt-5-mini')
    const { code, stdout } = await place.run(['run', ...flags, '--json', 'Go.'])
    expect(code).toBe(0)
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    expect(last.costUsd ?? last.result?.costUsd).toBeCloseTo(0.25 + 0.2, 9)
  })

  it('accepts a budget in dollars, and stops at it', async () => {
    const place = await openPlace()
    const flags = await withModel(place, 'gpt-5-mini')
    expect(await place.run(['run', ...flags, '--budget', '0.50usd', 'Go.'])).toMatchObject({ code: 0 })
    const { code, stderr } = await place.run(['run', ...flags, '--budget', '0.0000001usd', 'Go.'])
    expect(code).toBe(4)
    expect(stderr).toContain("Budget exhausted on 'usd'")
  })

  it('refuses a budget in dollars for a model whose price is unknown', async () => {
    const place = await openPlace()
    const flags = await withModel(place, 'a-model-of-ours')
    const { code, stderr } = await place.run(['run', ...flags, '--budget', '0.50usd', 'Go.'])
    expect(code).toBe(2)
    expect(stderr).toContain('needs the price of the model, which is not known')
  })
})
