import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { modelErrorCodes } from '../../src/model/errors.js'
import { providerFamily, wellKnownProvider } from '../../src/model/well-known.js'
import { nameIn, rowsBetween } from './page-table.js'

const page = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8')

describe('the tables in docs/models.md', () => {
  it('have every provider that is known, with its protocol, address and key', () => {
    const documented = rowsBetween(page, 'providers').flatMap(([names = '', protocol, address = '', key]) =>
      names.split(', ').map((name) => ({
        name: nameIn(name),
        protocol,
        ...(address.startsWith('`') && { baseUrl: nameIn(address) }),
        env: nameIn(key),
      })),
    )
    const real = namesKnown().map((name) => ({
      name,
      protocol: protocols[providerFamily(name)],
      ...wellKnownProvider(name),
    }))
    const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1)
    expect(documented.toSorted(byName)).toEqual(real.toSorted(byName))
  })

  it('have every error', () => {
    expect(rowsBetween(page, 'model-errors').map(([code]) => nameIn(code))).toEqual([...modelErrorCodes])
  })
})

const protocols: Readonly<Record<ReturnType<typeof providerFamily>, string>> = {
  chat: 'chat completions',
  zhipu: 'chat completions, own path',
  anthropic: 'Anthropic messages',
  google: 'Google generate-content',
  'openai-responses': 'OpenAI responses',
}

/** As the source lists them. */
function namesKnown(): string[] {
  const source = readFileSync(new URL('../../src/model/well-known.ts', import.meta.url), 'utf8')
  const [, table = ''] = /\nconst wellKnown = new Map[^\n]*\n([\s\S]*?)\n\]\)/.exec(source) ?? []
  return [...table.matchAll(/^ {2}\['([^']+)'/gm)].map(([, name = '']) => name)
}
