import { describe } from 'vitest'
import type { SandboxBackend } from '../../../../src/workspace/sandbox/backends.js'
import { detectSandbox } from '../../../../src/workspace/sandbox/probe.js'

const found = {
  bubblewrap: await detectSandbox({ backend: 'bubblewrap' }),
  landlock: await detectSandbox({ backend: 'landlock' }),
}

/** Tests that need bubblewrap. Where there is none they are skipped under a name that says why: never passed. */
export function describeWithBubblewrap(name: string, tests: () => void): void {
  describeWith('bubblewrap', name, tests)
}

/** The same tests in every sandbox, each as far as it works here. */
export function describeWithEachSandbox(name: string, tests: (backend: SandboxBackend) => void): void {
  for (const backend of ['bubblewrap', 'landlock'] as const)
    describeWith(backend, `${name}, ${backend}`, () => tests(backend))
}

function describeWith(backend: keyof typeof found, name: string, tests: () => void): void {
  const sandbox = found[backend]
  if (sandbox.kind !== 'none') {
    describe(name, tests)
    return
  }
  console.warn(`NOT RUN: ${name}: ${sandbox.reason}. ${sandbox.advice}`)
  describe.skip(`${name} [NOT RUN: ${sandbox.reason}]`, tests)
}
