import { describe } from 'vitest'
import { detectSandbox } from '../../../../src/workspace/sandbox/probe.js'

const found = {
  bubblewrap: await detectSandbox({ backend: 'bubblewrap' }),
  landlock: await detectSandbox({ backend: 'landlock' }),
}

type LinuxSandbox = keyof typeof found

/**
 * The error of a write outside the grant of a program: bubblewrap mounts directories read-only, Landlock refuses the
 * call.
 */
export const refusedWrites: Readonly<Record<LinuxSandbox, string>> = {
  bubblewrap: 'EROFS',
  landlock: 'EACCES',
}

/** Runs tests that need bubblewrap. Without it they are skipped, under a name that states the reason. */
export function describeWithBubblewrap(name: string, tests: () => void): void {
  describeWith('bubblewrap', name, tests)
}

/** Runs the same tests in every sandbox of Linux that works here. */
export function describeWithEachSandbox(name: string, tests: (backend: LinuxSandbox) => void): void {
  for (const backend of ['bubblewrap', 'landlock'] as const)
    describeWith(backend, `${name}, ${backend}`, () => tests(backend))
}

function describeWith(backend: LinuxSandbox, name: string, tests: () => void): void {
  const sandbox = found[backend]
  if (sandbox.kind !== 'none') {
    describe(name, tests)
    return
  }
  console.warn(`NOT RUN: ${name}: ${sandbox.reason}. ${sandbox.advice}`)
  describe.skip(`${name} [NOT RUN: ${sandbox.reason}]`, tests)
}
