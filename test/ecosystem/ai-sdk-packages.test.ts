import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageJson } from '../house/package-entries.js'
import { printed, runTsc } from '../house/run.js'
import { installedPackages } from './install.js'

describe('the packages of the AI SDK that these tests use', () => {
  // The tests of src/model/ai-sdk run in this project too. Without this they could run with the same packages twice.
  it('are those of the next major version, with models of specification v4', async () => {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
    const settings = { apiKey: 'none' }
    const models = [
      createOpenAI(settings).responses('m'),
      createAnthropic(settings)('m'),
      createGoogleGenerativeAI(settings)('m'),
    ]
    expect(models.map(({ specificationVersion }) => specificationVersion)).toEqual(['v4', 'v4', 'v4'])
  })

  it('are allowed by the peer dependencies of the package, as is the previous version', () => {
    const peers = Object.entries(packageJson.peerDependencies ?? {}).filter(([name]) =>
      name.startsWith('@ai-sdk/'),
    )
    expect(peers.map(([, range]) => range)).toEqual(['^3 || ^4', '^3 || ^4', '^3 || ^4'])
  })

  it('create models with the types that fromAiSdk accepts', async () => {
    const folder = join(installedPackages, '..')
    const program = `
      import { createAnthropic } from '@ai-sdk/anthropic'
      import { createGoogleGenerativeAI } from '@ai-sdk/google'
      import { createOpenAI } from '@ai-sdk/openai'
      import { fromAiSdk, type Model } from '../../dist/model/index.js'

      const settings = { apiKey: 'none' }
      export const models: Model[] = [
        fromAiSdk(createOpenAI(settings)('m')),
        fromAiSdk(createAnthropic(settings)('m')),
        fromAiSdk(createGoogleGenerativeAI(settings)('m')),
      ]
      // @ts-expect-error a text names no model here
      fromAiSdk('openai/m')`
    writeFileSync(join(folder, 'program.ts'), program)
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable'],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      noEmit: true,
      types: [],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    const outcome = await runTsc(['-p', 'tsconfig.json'], { cwd: folder })
    expect(outcome.code, printed(outcome)).toBe(0)
  })
})
