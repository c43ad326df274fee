import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { wellKnownProvider } from '../../model/well-known.js'
import { keyedProviders } from './known-models.js'

describe('default models of API keys', () => {
  it.each(keyedProviders.map(({ provider, variables }) => [provider, variables] as const))(
    'belong to a known provider: %s',
    (provider, variables) => {
      expect(variables).toContain(wellKnownProvider(provider)?.env)
    },
  )

  // The packages of the providers list what there is: a model that is gone from there is to be replaced here.
  it.each(['anthropic', 'openai', 'google'])('exist in the package of %s', (provider) => {
    const types = readFileSync(
      new URL(`../../../node_modules/@ai-sdk/${provider}/dist/index.d.ts`, import.meta.url),
      'utf8',
    )
    const model = keyedProviders.find((each) => each.provider === provider)?.model
    expect(types).toContain(`'${model}'`)
  })
})
