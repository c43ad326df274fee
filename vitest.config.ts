import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 20_000,
    typecheck: { enabled: false, include: ['src/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
  },
})
