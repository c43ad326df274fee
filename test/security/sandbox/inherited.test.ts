import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxBackend } from '../../../src/workspace/sandbox/backends.js'
import { keyctlNumber } from '../../../src/workspace/sandbox/seccomp.js'
import { sharedDirectory } from '../../support/temporary-directory.js'
import { compileShell } from './support/compiled.js'
import { type Host, serveHost } from './support/host.js'
import { describeWithEachSandbox } from './support/needs-bubblewrap.js'

const place = sharedDirectory()
const keyctl = keyctlNumber() ?? -1
const addKey = keyctl - 2
let compiled: ReturnType<typeof compileShell>
let host: Host
beforeAll(() => {
  mkdirSync(join(place, 'work'))
  const secret = join(place, 'secret')
  writeFileSync(secret, 'canary-descriptor')
  // Joins a new session keyring, puts a key there, and becomes the host. The test of the key fails without the key.
  const withKey = `my ($t, $d, $v) = ("user", "capstan-canary", "canary-key"); syscall(${keyctl}, 1, 0) >= 0 && syscall(${addKey}, $t, $d, $v, 10, -3) >= 0 or warn $!; exec @ARGV`
  const leak = `exec 16<"$0" 17<"$0" 40<"$0" 99<"$0" 250<"$0"; exec "$@"`
  compiled = compileShell()
  // Started with a key and with open descriptors, as by a service manager or a shell that leaks. One host for all
  // tests: its start and its first test of the sandbox take longer than the commands.
  host = serveHost(compiled.directory, ['perl', '-e', withKey, '/bin/bash', '--norc', '-c', leak, secret])
})
afterAll(async () => {
  await host.end()
  compiled.remove()
})

async function outputOf(command: string, sandbox: 'off' | SandboxBackend): Promise<string> {
  const shell = { root: join(place, 'work'), ledgerDir: join(place, 'ledger'), sandbox } as const
  const lines = await host.ask({ shell, runs: [command] })
  return lines.flatMap(({ outcome }) => outcome?.output ?? []).join('')
}

const tryEveryDescriptor = `for n in $(seq 3 255); do { cat <&$n; } 2>/dev/null; done
  for f in /proc/*/fd/*; do case $(readlink $f) in *secret*) echo "canary $f" ;; esac; done; for f in /proc/self/fd/*; do echo "\${f##*/}"; done`

describe('descriptors that the host inherited', () => {
  it('are closed for a command without a sandbox', async () => {
    const output = await outputOf(
      `for n in $(seq 3 255); do { cat <&$n; } 2>/dev/null; done; echo looked`,
      'off',
    )
    expect(output).toBe('looked\n')
  })
})

// A sandbox that fails its self-test is replaced by another one, so each is named.
describeWithEachSandbox('what a host inherited, in a sandbox', (sandbox) => {
  it('no descriptor above 2 reaches a command', async () => {
    const output = await outputOf(tryEveryDescriptor, sandbox)
    expect(output).not.toContain('canary')
    expect(output.match(/^\d+$/gm)?.slice(0, 3)).toEqual(['0', '1', '2'])
  })

  it('the session keyring of the host, and a key in it, is not accessible', async () => {
    const find = `my $t = "user"; my $d = "capstan-canary"; my $id = syscall(${keyctl}, 10, -3, $t, $d, 0); my $b = "\\0" x 64;
      if ($id >= 0) { my $n = syscall(${keyctl}, 11, $id, $b, 64); print "key ", substr($b, 0, $n), "\\n" }
      else { print $!{ENOSYS} ? "refused\\n" : "no key: $!\\n" }`
    const command = `perl -e '${find}'; grep -c canary /proc/keys 2>/dev/null; true`
    // The key is there: a command without a sandbox finds it.
    expect(await outputOf(command, 'off')).toContain('key canary-key')
    // The namespace of the sandbox hides the key too: without the filter the call would search, and find none.
    expect(await outputOf(command, sandbox)).toMatch(/^refused\n0?\n?$/)
  })
})
