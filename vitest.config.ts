import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Tests that kill processes, soak, race, fuzz, package, or run the documents. Everything else is unit (`src/`) or contract (`test/`). */
const slow = [
  'src/program/machine/soak.test.ts',
  'src/postgres/*.test.ts',
  'src/store/*/faults.test.ts',
  'src/store/postgres/*.test.ts',
  'src/workspace/search/differential.test.ts',
  'test/docs/**/*.test.ts',
  'test/faults/**/*.test.ts',
  'test/house/**/*.test.ts',
  'test/mcp/orphans.test.ts',
  'test/mcp/faults.test.ts',
  'test/persistence/{kill,subagents-kill,soak,cut,store-failures,store-operations,two-processes}.test.ts',
  'test/postgres/**/*.test.ts',
  'test/queue/{kill,workers}.test.ts',
  'test/security/**/{race,search-race,fuzz,orphans,abort,random-trees}.test.ts',
  'test/supervise/faults.test.ts',
  'test/toolbox/big-tree.test.ts',
  'test/agent-dir/two-nodes.test.ts',
  'test/server/{kill,streams}.test.ts',
  'test/cluster/{processes,kill,database,network,pooler,schedules}.test.ts',
  'test/python/wheel.test.ts',
]

/** Tests with packages of users, which are installed apart (test/ecosystem/packages). */
const ecosystem = 'test/ecosystem/**/*.test.ts'

// Node reads these certificates whenever it starts, which takes three times as long as the rest of its start, and the
// tests start it thousands of times. Only what downloads packages gets them back (test/support/download-environment.mjs).
const { NODE_EXTRA_CA_CERTS: certificates } = process.env
if (certificates !== undefined) {
  process.env['TEST_CA_CERTS'] = certificates
  delete process.env['NODE_EXTRA_CA_CERTS']
}

/** Later versions of Node have no such option, and a compiler in between that takes less time. */
const compileLate = process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []

const cores = Math.max(2, availableParallelism())

export default defineConfig({
  test: {
    // Most tests wait for processes, sockets and disks more than they compute. The tiers share these workers and follow each other without a
    // pause: vitest runs them by name, so the small files of `unit` fill the end.
    maxWorkers: cores + 1,
    // A worker runs most code a few times. Compiling it to machine code early took a sixth of the processor time, and a
    // small young generation most of what the collector took.
    execArgv: [...compileLate, '--min-semi-space-size=32', '--max-semi-space-size=64'],
    // Generous: a machine that is busy with other work takes ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Its default of one second is too short on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    // What a file is compiled to is kept between runs, by its content: compiling was a tenth of the time.
    experimental: { fsModuleCache: true, fsModuleCachePath: '.build/vitest-cache' },
    // `npm run test:times`
    setupFiles: process.env['TEST_TIMES'] === undefined ? [] : ['test/support/cpu-times.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          exclude: slow,
          // Files share one process: importing the source again for each of them took longer than running them.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['test/**/*.test.ts'],
          exclude: [...slow, ecosystem],
          isolate: false,
          globalSetup: 'test/support/global-setup.ts',
        },
      },
      {
        extends: true,
        // The tests of models of the AI SDK run a second time, with the next major version of its packages.
        resolve: {
          alias: [{ find: /^(@ai-sdk\/\w+)$/, replacement: resolve('.build/ecosystem/node_modules/$1') }],
        },
        test: {
          name: 'ecosystem',
          include: [ecosystem, 'src/model/ai-sdk/*.test.ts'],
          isolate: false,
          globalSetup: ['test/support/global-setup.ts', 'test/ecosystem/install.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: slow,
          isolate: false,
          globalSetup: 'test/support/global-setup.ts',
        },
      },
    ],
  },
})
