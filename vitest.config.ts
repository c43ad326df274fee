import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ecosystem, long, nextAiSdk, slow, spreadWaiting, tierOf, tiers } from './scripts/tiers.mjs'

// Node reads these certificates whenever it starts, which takes three times as long as the rest of its start, and the
// tests start it thousands of times. Only what downloads packages gets them back (test/support/download-environment.mjs).
const { NODE_EXTRA_CA_CERTS: certificates } = process.env
if (certificates !== undefined) {
  process.env['TEST_CA_CERTS'] = certificates
  delete process.env['NODE_EXTRA_CA_CERTS']
}

/**
 * A worker runs most code a few times. Compiling it to machine code early took a sixth of the processor time. Later
 * versions of Node have no such option, and a compiler in between that takes less time.
 */
const compileLate = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []

/** A small young generation takes most of what the collector takes. */
const options = [...compileLate, '--min-semi-space-size=32', '--max-semi-space-size=64']

/**
 * Node imports the sources itself, without their types (test/support/typescript.mjs). `npm run coverage` needs vitest's
 * own module runner.
 */
const isNative = process.env['MODULE_RUNNER'] !== 'vite'
/** It replaces a file of the sources, which only works where Node imports them (test/support/second-copy.ts). */
const onlyNative = isNative ? [] : ['test/contract/feature.test.ts']
const throughVite = { viteModuleRunner: true, fsModuleCache: true, fsModuleCachePath: '.build/vitest-cache' }

const cores = Math.max(2, availableParallelism())

/** Tier after tier, so that the time of each can be stated. */
class TierSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const pathOf = ({ moduleId }: TestSpecification): string =>
      relative(process.cwd(), moduleId).replaceAll('\\', '/')
    const sorted = await super.sort(files)
    const inTier = (tier: string): TestSpecification[] =>
      sorted.filter((file) => tierOf(pathOf(file), file.project.name) === tier)
    const isLong = (file: TestSpecification): boolean => long.includes(pathOf(file))
    return tiers.flatMap((tier) => {
      const all = inTier(tier)
      const rest = all.filter((file) => !isLong(file))
      return [
        ...all.filter(isLong),
        ...spreadWaiting(rest, pathOf, ({ moduleId }) => statSync(moduleId).size),
      ]
    })
  }
}

/** Files share one process: importing the sources again for each of them took longer than running them. */
const shared = { isolate: false } as const
const built = { ...shared, globalSetup: ['test/support/global-setup.mjs'] }
const withUserPackages = { ...shared, globalSetup: [...built.globalSetup, 'test/ecosystem/global-setup.mjs'] }

const separateTiers: TestProjectInlineConfiguration[] = [
  { extends: true, test: { ...shared, name: 'unit', include: ['src/**/*.test.ts'], exclude: slow } },
  {
    extends: true,
    test: {
      ...built,
      name: 'contract',
      include: ['test/**/*.test.ts'],
      exclude: [...slow, ...onlyNative, ecosystem],
    },
  },
  { extends: true, test: { ...built, name: 'slow', include: slow } },
  ecosystemTier([ecosystem]),
]

/** The tests of models of the AI SDK run a second time there, with the next major version of its packages. */
function ecosystemTier(include: readonly string[]): TestProjectInlineConfiguration {
  const hooks = pathToFileURL(resolve('test/support/typescript.mjs'))
  hooks.searchParams.set('ai-sdk-from', pathToFileURL(resolve('.build/ecosystem/package.json')).href)
  return {
    extends: true,
    test: {
      ...withUserPackages,
      execArgv: [...options, '--import', hooks.href],
      name: 'ecosystem',
      include: [...include, 'src/model/ai-sdk/*.test.ts'],
    },
  }
}

/**
 * A worker keeps what it has imported only for files of the same project, so `npm test` runs the tiers as one project:
 * with several of them every worker imports the sources several times.
 */
const together: TestProjectInlineConfiguration[] = [
  {
    extends: true,
    test: {
      ...withUserPackages,
      name: 'together',
      include: ['{src,test}/**/*.test.ts'],
      exclude: [nextAiSdk],
    },
  },
  ecosystemTier([nextAiSdk]),
]

export default defineConfig({
  test: {
    // Most tests wait for processes, sockets and disks more than they compute. The tiers follow each other without a
    // pause.
    maxWorkers: cores + 3,
    execArgv: isNative ? [...options, '--import', resolve('test/support/typescript.mjs')] : options,
    // Generous: a machine that is busy with other work takes ten times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Its default of one second is too short on a busy machine.
    expect: { poll: { timeout: 120_000 } },
    experimental: isNative ? { viteModuleRunner: false, nodeLoader: false } : throughVite,
    setupFiles: [
      'test/support/before-each-file.ts',
      // `npm run test:times`
      ...(process.env['TEST_TIMES'] === undefined ? [] : ['test/support/cpu-times.ts']),
    ],
    sequence: { sequencer: TierSequencer },
    projects: process.env['TIERS'] === 'together' ? together : separateTiers,
  },
})
