import { describe } from 'vitest'
import { detectSandbox } from '../../../../src/workspace/sandbox/probe.js'

const sandbox = await detectSandbox()

/** Tests that need a working sandbox. Where there is none they are skipped under a name that says why: never passed. */
export function describeWithBubblewrap(name: string, tests: () => void): void {
  if (sandbox.kind === 'bubblewrap') {
    describe(name, tests)
    return
  }
  console.warn(`NOT RUN: ${name}: ${sandbox.reason}. ${sandbox.advice}`)
  describe.skip(`${name} [NOT RUN: ${sandbox.reason}]`, tests)
}
