import { mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

const shared = resolve(import.meta.dirname, '../../.build/test-compile-cache')

/**
 * Creates the directory of a user for the built command, with the compile cache that all tests share. Without a cache
 * the command compiles everything, which is 40 % of the processor time of a short run.
 */
export function createUserDirectory(path: string): void {
  for (const directory of [shared, path]) mkdirSync(directory, { recursive: true, mode: 0o700 })
  symlinkSync(shared, join(path, 'cache'))
}
