import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyctlNumber } from '../../../src/workspace/sandbox/seccomp.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { compileShell } from './support/compiled.js'
import { serveHost } from './support/host.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'

let compiled: ReturnType<typeof compileShell>
let place: string
beforeAll(() => {
  compiled = compileShell()
})
afterAll(() => compiled.remove())
beforeEach(() => {
  place = temporaryDirectory()
  mkdirSync(join(place, 'work'))
  writeFileSync(join(place, 'secret'), 'canary-descriptor')
})

async function outputOf(
  front: readonly string[],
  command: string,
  sandbox: 'off' | 'required',
): Promise<string> {
  const host = serveHost(compiled.directory, front)
  try {
    const shell = { root: join(place, 'work'), ledgerDir: join(place, 'ledger'), sandbox } as const
    const lines = await host.ask({ shell, runs: [command] })
    return lines.flatMap(({ outcome }) => outcome?.output ?? []).join('')
  } finally {
    await host.end()
  }
}

/** A host that was started with open descriptors, as by a service manager or a shell that leaks. */
const leaking = (): string[] => [
  '/bin/bash',
  '--norc',
  '-c',
  `exec 16<"$0" 17<"$0" 40<"$0" 99<"$0" 250<"$0"; exec "$@"`,
  join(place, 'secret'),
]

const tryEveryDescriptor = `for n in $(seq 3 255); do { cat <&$n; } 2>/dev/null; done
  for f in /proc/*/fd/*; do case $(readlink $f) in *secret*) echo "canary $f" ;; esac; done; for f in /proc/self/fd/*; do echo "\${f##*/}"; done`

describe('descriptors that the host inherited', () => {
  it('are closed for a command without a sandbox', async () => {
    const output = await outputOf(
      leaking(),
      `for n in $(seq 3 255); do { cat <&$n; } 2>/dev/null; done; echo looked`,
      'off',
    )
    expect(output).toBe('looked\n')
  })
})

describeWithBubblewrap('what a host inherited, in a sandbox', () => {
  it('no descriptor above 2 reaches a command', async () => {
    const output = await outputOf(leaking(), tryEveryDescriptor, 'required')
    expect(output).not.toContain('canary')
    expect(output.match(/^\d+$/gm)?.slice(0, 3)).toEqual(['0', '1', '2'])
  })

  it('the session keyring of the host, and a key in it, is not accessible', async () => {
    const keyctl = keyctlNumber() ?? -1
    const addKey = keyctl - 2
    // Joins a new session keyring, puts a key there, and becomes the host.
    const script = `my ($t, $d, $v) = ("user", "capstan-canary", "canary-key"); syscall(${keyctl}, 1, 0) >= 0 && syscall(${addKey}, $t, $d, $v, 10, -3) >= 0 or die $!; exec @ARGV`
    const find = `my $t = "user"; my $d = "capstan-canary"; my $id = syscall(${keyctl}, 10, -3, $t, $d, 0); my $b = "\\0" x 64;
      if ($id >= 0) { my $n = syscall(${keyctl}, 11, $id, $b, 64); print "key ", substr($b, 0, $n), "\\n" } else { print "none\\n" }`
    const command = `perl -e '${find}'; grep -c canary /proc/keys 2>/dev/null; true`
    const front = ['perl', '-e', script]
    // The key is there: a command without a sandbox finds it.
    expect(await outputOf(front, command, 'off')).toContain('key canary-key')
    expect(await outputOf(front, command, 'required')).toMatch(/^none\n0?\n?$/)
  })
})
