import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** Creates a directory and removes it after the test. For tests and `beforeEach`. Returns its real path. */
export function temporaryDirectory(parent = tmpdir()): string {
  const path = realpathSync(mkdtempSync(join(parent, 'capstan-test-')))
  onTestFinished(() => removeDirectory(path))
  return path
}

/**
 * The path of a directory that exists while the tests of a file (or of one `describe`) run. For the top level of
 * either.
 */
export function sharedDirectory(parent = tmpdir()): string {
  // A hook creates it: a file whose tests are only listed must leave nothing behind.
  const path = join(realpathSync(parent), `capstan-test-${randomUUID()}`)
  beforeAll(() => void mkdirSync(path, { mode: 0o700 }))
  afterAll(() => removeDirectory(path))
  return path
}

async function removeDirectory(path: string): Promise<void> {
  try {
    // Takes half the processor time of `rm`, and every test does it.
    rmSync(path, { recursive: true, force: true })
  } catch {
    // A process that was just ended, or this one, may still be writing into it: on a busy machine for seconds.
    await rm(path, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 })
  }
}
