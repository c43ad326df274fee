import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 20_000,
    // Many tests wait for processes more than they compute: on two cores one worker would leave half of the machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    typecheck: { enabled: false, include: ['src/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
  },
})
