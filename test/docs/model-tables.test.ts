import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { modelErrorCodes } from '../../src/model/errors.js'
import { type CacheForm, type ProviderFamily, providers, type WellKnown } from '../../src/model/well-known.js'
import { nameIn, rowsBetween } from './page-table.js'

const path = new URL('../../docs/models.md', import.meta.url)
const page = readFileSync(path, 'utf8')

describe('the tables in docs/models.md', () => {
  it('have every known provider, as the code describes it (UPDATE_DOCS=1 writes them)', () => {
    const filled = page.replace(
      /(?<=<!-- providers:begin -->\n)[\s\S]*?(?=<!-- providers:end -->)/,
      () => `\n${providerTable()}\n`,
    )
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, filled)
    else expect(page).toBe(filled)
  })

  it('have every error', () => {
    expect(rowsBetween(page, 'model-errors').map(([code]) => nameIn(code))).toEqual([...modelErrorCodes])
  })
})

function providerTable(): string {
  const head = ['name', 'protocol', 'address', 'key, usually from', 'reasoning effort', 'prompt cache']
  const lines = [head, ...providers.map(rowOf)].map((cells) => `| ${cells.join(' | ')} |\n`)
  lines.splice(1, 0, `|${head.map(() => '---|').join('')}\n`)
  return lines.join('')
}

function rowOf({ names, protocol, baseUrl, env, effort, cache }: WellKnown): string[] {
  return [
    names.map(code).join(', '),
    protocols[protocol],
    baseUrl === undefined ? addresses[protocol] : code(baseUrl),
    code(env),
    effort === 'own' ? 'as its protocol has it' : effort.split(' and ').map(code).join(' and '),
    caches[cache],
  ]
}

const code = (text: string): string => `\`${text}\``

const protocols: Readonly<Record<ProviderFamily, string>> = {
  chat: 'chat completions',
  zhipu: 'chat completions, own path',
  azure: 'chat completions, path of the deployment',
  anthropic: 'Anthropic messages',
  google: 'Google generate-content',
  'openai-responses': 'OpenAI responses',
  bedrock: 'Bedrock Converse',
  vertex: 'Google generate-content, path of the project',
}

const addresses: Readonly<Record<ProviderFamily, string>> = {
  chat: '',
  zhipu: '',
  azure: 'that of your resource',
  anthropic: "the package's",
  google: "the package's",
  'openai-responses': "the package's",
  bedrock: 'that of the region',
  vertex: 'that of the location',
}

const caches: Readonly<Record<CacheForm, string>> = {
  marks: 'marks with a time to live',
  retention: 'automatic, can be retained longer',
  automatic: 'automatic',
  none: 'none',
}
