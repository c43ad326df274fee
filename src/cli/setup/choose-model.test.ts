import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../agent/config/index.js'
import { chooseModel } from './choose-model.js'
import { findLocalModel, localServersOf } from './local-models.js'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

const nothing = { providers: [], mcpServers: [] } as const
const alone = { CAPSTAN_LOCAL_MODELS: 'off' }

describe('the model of a session', () => {
  it('is the one that is named: the flag takes precedence over the variable, and configured and well-known providers are found', async () => {
    const { config } = await loadConfig(
      'providers "own" {\n base_url = "http://127.0.0.1:1/v1"\n models "a" {}\n}\n',
    )
    const named = (name: string, env = {}) => chooseModel({ env: { ...alone, ...env }, config, named: name })
    expect(await named('own/a')).toEqual({ name: 'own/a', model: 'own/a', from: 'flag' })
    expect(await named('a')).toEqual({ name: 'own/a', model: 'own/a', from: 'flag' })
    expect(await named('ollama/qwen3')).toMatchObject({ model: { provider: 'ollama', id: 'qwen3' } })
    expect(await named('groq/openai/x', { GROQ_API_KEY: 'k' })).toMatchObject({
      model: { provider: 'groq', id: 'openai/x' },
    })
    expect(await named('offline', { CAPSTAN_MODEL: 'own/a' })).toMatchObject({
      model: { provider: 'offline' },
    })
    expect(await chooseModel({ env: { CAPSTAN_MODEL: 'own/a' }, config })).toMatchObject({ model: 'own/a' })
  })

  it('is refused when it is unknown or its key is missing', async () => {
    const named = (name: string) => chooseModel({ env: alone, config: nothing, named: name })
    await expect(named('openai/gpt-5')).rejects.toThrow(
      'openai/gpt-5 needs an API key, and OPENAI_API_KEY is not set.',
    )
    await expect(named('unknown/x')).rejects.toThrow('Unknown model "unknown/x".')
    await expect(named('gpt-5')).rejects.toThrow('Unknown model "gpt-5".')
  })

  it('is the configured one, even if API keys are set', async () => {
    const { config } = await loadConfig(
      'providers "own" {\n base_url = "http://127.0.0.1:1/v1"\n models "a" {}\n}\n',
    )
    expect(await chooseModel({ env: { ...alone, OPENAI_API_KEY: 'k' }, config })).toMatchObject({
      model: 'own/a',
      from: 'config',
    })
  })

  it('is the default model for the first API key that is set, and the note names the variable, not the key', async () => {
    const chosen = await chooseModel({
      env: { ...alone, OPENAI_API_KEY: 'sk-secret', MISTRAL_API_KEY: 'other' },
      config: nothing,
    })
    expect(chosen).toMatchObject({ name: 'openai/gpt-5.2', from: 'environment' })
    expect(chosen.note).toContain('OPENAI_API_KEY')
    expect(JSON.stringify(chosen)).not.toContain('sk-secret')
    expect(await chooseModel({ env: { ...alone, OPENAI_API_KEY: ' ' }, config: nothing })).toMatchObject({
      from: 'offline',
    })
  })

  it('is one of a server on this machine, or else the offline model, and a note says which', async () => {
    const url = await serve({ data: [{ id: 'nomic-embed-text' }, { id: 'qwen3:8b' }, { id: 'llama3' }] })
    const chosen = await chooseModel({ env: { CAPSTAN_LOCAL_MODELS: url }, config: nothing })
    expect(chosen).toMatchObject({ name: 'local/qwen3:8b', from: 'local' })
    expect(chosen.note).toBe(
      `model: qwen3:8b of the server at ${url} (which has 1 more); choose another with --model`,
    )
    const offline = await chooseModel({ env: alone, config: nothing })
    expect(offline).toMatchObject({ name: 'offline/rules', from: 'offline' })
    expect(offline.note).toContain('no language model is configured')
  })
})

describe('servers on this machine', () => {
  it('are queried at the same time, and the first that lists a model is used', async () => {
    const elsewhere = await serve({ data: [{ id: 'stolen' }] })
    const servers = [
      { provider: 'closed', url: 'http://127.0.0.1:1/v1' },
      { provider: 'other', url: await serve('<html>') },
      { provider: 'empty', url: await serve({ data: [] }) },
      { provider: 'refuses', url: await serve({ data: [{ id: 'x' }] }, 403) },
      { provider: 'away', url: await serve({}, 302, { location: `${elsewhere}/models` }) },
      { provider: 'right', url: await serve({ data: [{ id: 'm' }] }) },
    ]
    expect(await findLocalModel(servers)).toMatchObject({ provider: 'right', model: 'm', others: 0 })
    expect(await findLocalModel(servers.slice(0, -1))).toBeUndefined()
  })

  it('are ignored when they do not answer in time', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    open.push(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`
    expect(await findLocalModel([{ provider: 'silent', url }], 50)).toBeUndefined()
  })

  it('must be on loopback', () => {
    expect(localServersOf({ CAPSTAN_LOCAL_MODELS: 'off' })).toEqual([])
    expect(localServersOf({}).length).toBe(3)
    for (const url of ['http://example.com/v1', 'http://127.0.0.1.evil.example/v1', 'file:///x', 'x'])
      expect(() => localServersOf({ CAPSTAN_LOCAL_MODELS: url })).toThrow('is not a URL on loopback')
  })
})

async function serve(answer: unknown, status = 200, headers = {}): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, headers).end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}
