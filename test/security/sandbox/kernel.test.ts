import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { keyctlNumber, seccompFilter } from '../../../src/workspace/sandbox/seccomp.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'
import { runAsModel } from './support/session.js'

/**
 * Opens for appending and writes nothing: a sandbox that does not hold must not harm the machine that runs the test.
 */
const openEverySetting = `
  find /proc/sys /proc/irq /proc/bus /proc/fs /proc/pressure -type f 2>/dev/null | while read -r f; do (: >> "$f") 2>/dev/null && echo "opened $f"; done
  find /proc -maxdepth 1 -type f -o -maxdepth 1 -type c | while read -r f; do (: >> "$f") 2>/dev/null && echo "opened $f"; done
  echo looked`

describeWithBubblewrap('the kernel as a sandboxed command sees it', () => {
  it('accepts no setting from the command of a model, also when the host is root', async () => {
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8')
    const { outputs, root } = await runAsModel(
      ['bash settings.sh', 'id -u; id -un; echo made > by-command'],
      {},
      { 'settings.sh': openEverySetting },
    )
    expect(outputs[0]).not.toContain('opened')
    expect(outputs[0]).toContain('looked')
    expect(outputs[1]).not.toMatch(/^0$/m)
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before)
    // Not root inside, and still the files of the host's user outside.
    expect(statSync(join(root, 'by-command')).uid).toBe(process.getuid?.())
  })

  it('shows nothing of its memory, keys and firmware', async () => {
    const memory = `for f in /proc/kcore /proc/kmsg /proc/keys /proc/key-users /proc/timer_list /proc/kpagecount /proc/kpageflags /proc/vmallocinfo /proc/slabinfo; do
         [ -e $f ] && timeout 5 head -c 1 $f >/dev/null 2>&1 && echo "read $f"; done
       for d in /proc/acpi /proc/scsi /proc/asound /sys/firmware /sys/devices/virtual/powercap /sys/kernel/debug /sys/kernel/tracing; do
         [ -n "$(ls -A $d 2>/dev/null)" ] && echo "listed $d"; done; echo looked`
    const { outputs } = await runAsModel(['bash memory.sh'], {}, { 'memory.sh': memory })
    expect(outputs[0]).not.toMatch(/read|listed/)
    expect(outputs[0]).toContain('looked')
  })

  it('refuses keyrings, vsock, io_uring and bpf, and allows ordinary sockets', async () => {
    const number = keyctlNumber() ?? -1
    const calls = `perl -e 'for my $call ([${number}, 0, -3, 1], [${number}, 1, 0, 0], [${number}, 3, -3, 0], [${number - 2}, "user", "k", "v", 1, -3], [425, 1, 0, 0], [427, 0, 0, 0]) {
         my ($n, @args) = @$call; $! = 0; print "passed $n\\n" if syscall($n, @args) != -1 || $!{ENOSYS} == 0 }'
       perl -MSocket -e 'for my $f (40, 38, 31, 17) { print "family $f\\n" if socket(S, $f, SOCK_STREAM, 0) }
         for my $f (AF_UNIX, AF_INET, AF_INET6) { socket(S, $f, SOCK_STREAM, 0) or print "refused $f\\n" }'
       grep -c '^Seccomp:.*2$' /proc/self/status`
    const { outputs } = await runAsModel(['bash calls.sh'], {}, { 'calls.sh': calls })
    expect(outputs[0]).not.toMatch(/passed|family|refused/)
    expect(outputs[0]).toContain('1')
  })

  it('has a filter for the processors that Node supports best, and none that only looks like one', () => {
    for (const arch of ['x64', 'arm64']) {
      const filter = seccompFilter(arch)
      expect(filter?.length).toBeGreaterThan(100)
      expect((filter?.length ?? 1) % 8).toBe(0)
    }
    expect(seccompFilter('sparc')).toBeUndefined()
  })
})
