import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './run.js'
import { isTest, listFiles } from './source-tree.js'

it('no module that test files share registers a hook when it is imported', () => {
  // A worker imports it once for all of its files, so the hook would run for the first of them alone. Hooks belong into
  // a function that each test or file calls, such as `sharedDirectory()`.
  const hook = /^(?:before|after)(?:Each|All)\(/m
  const shared = ['src', 'test']
    .flatMap((folder) => listFiles(folder, /\.ts$/))
    .filter((path) => !isTest(path))
  const found = shared.filter((path) => hook.test(readFileSync(join(root, path), 'utf8')))
  // vitest imports the set-up files again for each test file.
  expect(found).toEqual(['test/support/cpu-times.ts'])
})
