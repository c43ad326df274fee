import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LimitReached, ShellOutcome } from '../../../src/tool/runtime.js'
import { usableGroupPlaces } from '../../../src/workspace/limits/control-group.js'
import type { SandboxBackend } from '../../../src/workspace/sandbox/backends.js'
import { detectSandbox } from '../../../src/workspace/sandbox/probe.js'
import { createLocalShell, type LocalShellOptions } from '../../../src/workspace/shell/local-shell.js'
import { hasThreads, programWithoutFirstThread } from '../../support/first-thread.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { asNormalUser, compileShell, normalUser } from './support/compiled.js'
import { type Host, serveHost } from './support/host.js'

const mebibyte = 1024 * 1024

/** Commands that take all they can get, with the limit that has to end each. */
const eaters: readonly { readonly what: string; readonly command: string; readonly ended: LimitReached }[] = [
  {
    what: 'a fork bomb',
    // Doubles as a fork bomb does, and is over at 128: a limit that does not hold must not take the machine.
    command:
      'bomb() { [ $1 = 0 ] && exec sleep 600; bomb $(($1-1)) & bomb $(($1-1)) & wait; }; bomb 6 2>/dev/null',
    ended: { limit: 'processes', max: 32 },
  },
  { what: 'a memory eater', command: 'tail /dev/zero', ended: { limit: 'memory', max: 48 * mebibyte } },
  {
    what: 'busy loops in several processes',
    command: 'loop() { while :; do :; done; }; loop & loop & loop',
    ended: { limit: 'cpu', max: 0.1 },
  },
  {
    what: 'a filler of the disk with many files',
    command: 'i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero >f$i; done',
    ended: { limit: 'disk', max: 8 * mebibyte },
  },
  {
    // Each is smaller than the limit, which the kernel applies to every file by itself.
    what: 'a filler of the disk with files that have no name',
    command:
      'for n in 3 4 5 6 7 8 9; do eval "exec $n>gone"; rm gone; head -c 2000000 /dev/zero >&$n; done; sleep 600',
    ended: { limit: 'disk', max: 8 * mebibyte },
  },
  {
    what: 'one large file',
    command: 'exec head -c 40000000 /dev/zero >large',
    ended: { limit: 'disk', max: 8 * mebibyte },
  },
]

const limitsFor = ({ limit, max }: LimitReached): NonNullable<LocalShellOptions['limits']> =>
  ({
    memory: { memoryBytes: max },
    processes: { processes: max },
    cpu: { cpuSeconds: max },
    disk: { diskBytes: max, fileBytes: 4 * 1024 * mebibyte },
    file_size: { fileBytes: max },
  })[limit]

const backends: (SandboxBackend | 'none')[] = ['none']
for (const backend of ['bubblewrap', 'landlock'] as const)
  if ((await detectSandbox({ backend })).kind !== 'none') backends.push(backend)
  else console.warn(`NOT RUN: limits in ${backend}`)

const groups = await usableGroupPlaces()

function shellOptions(
  place: string,
  backend: SandboxBackend | 'none',
  ledgerDir = workerLedger,
): LocalShellOptions {
  const common = { root: join(place, 'work'), ledgerDir }
  return backend === 'none'
    ? { ...common, sandbox: 'off' }
    : { ...common, sandbox: 'required', sandboxOptions: { backend } }
}

function workplace(): string {
  const place = temporaryDirectory()
  mkdirSync(join(place, 'work'))
  return place
}

/** The groups of this process that are left in the control group file system. */
function groupsLeft(): string[] {
  return groups.flatMap(({ directory }) =>
    readdirSync(directory).filter((name) => name.startsWith(`capstan-${process.pid}-`)),
  )
}

const minutes = 120_000

describe.each(backends)('limits of a command, confined by %s', (backend) => {
  describe.skipIf(groups.length === 0)('enforced by control groups', () => {
    it.each(eaters)(
      'SEC-133 end $what, and the result names the limit',
      async ({ command, ended }) => {
        const shell = createLocalShell({ ...shellOptions(workplace(), backend), limits: limitsFor(ended) })
        try {
          const outcome = await shell.run(command, { timeoutMs: minutes })
          expect({ limit: outcome.limit, timedOut: outcome.timedOut }).toEqual({
            limit: ended,
            timedOut: false,
          })
          expect(outcome.sandbox).toBe(backend)
          expect((await shell.run('echo alive')).output).toBe('alive\n')
        } finally {
          await shell.close()
        }
        expect(groupsLeft()).toEqual([])
      },
      minutes,
    )
  })

  it.each(eaters)(
    'SEC-133 end $what without control groups',
    async ({ command, ended }) => {
      const shell = createLocalShell({
        ...shellOptions(workplace(), backend),
        limits: limitsFor(ended),
        controlGroups: false,
      })
      try {
        const outcome = await shell.run(command, { timeoutMs: minutes })
        expect({ limit: outcome.limit, timedOut: outcome.timedOut }).toEqual({
          limit: ended,
          timedOut: false,
        })
        expect((await shell.run('echo alive')).output).toBe('alive\n')
      } finally {
        await shell.close()
      }
    },
    minutes,
  )
})

// Memory and open files of such a process can be read only from its other threads.
describe.runIf(hasThreads)('limits of a process whose first thread has ended, without control groups', () => {
  it.each<{ readonly what: string; readonly code: string; readonly ended: LimitReached }>([
    {
      what: 'its memory',
      code: 'my $size = 64 << 20; my $text = q(a) x $size; sleep 600',
      ended: { limit: 'memory', max: 48 * mebibyte },
    },
    {
      what: 'its files that have no name',
      code: 'for (1 .. 7) { open my $file, q(>), q(gone); unlink q(gone); syswrite $file, q(a) x 2_000_000; push @files, $file } sleep 600',
      ended: { limit: 'disk', max: 8 * mebibyte },
    },
  ])(
    'SEC-133 count $what',
    async ({ code, ended }) => {
      const options = { ...shellOptions(workplace(), 'none'), limits: limitsFor(ended), controlGroups: false }
      const shell = createLocalShell(options)
      try {
        const outcome = await shell.run(programWithoutFirstThread(code), { timeoutMs: minutes })
        expect({ limit: outcome.limit, timedOut: outcome.timedOut }).toEqual({
          limit: ended,
          timedOut: false,
        })
      } finally {
        await shell.close()
      }
    },
    2 * minutes,
  )
})

describe.skipIf(process.getuid?.() !== 0)('the number of processes of root without control groups', () => {
  // The kernel does not hold root to RLIMIT_NPROC, and 100 processes are faster than any measurement.
  it.each(backends.filter((backend) => backend !== 'none'))(
    'SEC-133 never exceeds the limit, confined by %s',
    async (backend) => {
      const place = workplace()
      const shell = createLocalShell({
        ...shellOptions(place, backend),
        limits: { processes: 32 },
        controlGroups: false,
      })
      try {
        const forks = `perl -e '$| = 1; for (1 .. 100) { my $p = fork; last unless defined $p; exec "sleep", 60 unless $p; print "x" }; print "refused" if $!{EAGAIN}'`
        const { output } = await shell.run(forks, { timeoutMs: minutes })
        expect(/^x*/.exec(output)?.[0].length).toBeGreaterThan(16)
        expect(/^x*/.exec(output)?.[0].length).toBeLessThan(32)
        const threads = `perl -e 'use threads; for (1 .. 100) { threads->create(sub { sleep 60 }) or last; syswrite STDOUT, "x" }'`
        const started = (await shell.run(threads, { timeoutMs: minutes })).output
        expect(/^x*/.exec(started)?.[0].length).toBeLessThan(32)
        expect((await shell.run('for i in $(seq 100); do (exit 0); done; echo alive')).output).toBe('alive\n')
      } finally {
        await shell.close()
      }
    },
    minutes,
  )
})

describe.skipIf(asNormalUser === undefined)('limits of a command of an ordinary user', () => {
  let compiled: ReturnType<typeof compileShell>
  let host: Host
  beforeAll(() => {
    compiled = compileShell()
    host = serveHost(compiled.directory, asNormalUser)
  })
  afterAll(async () => {
    await host.end()
    compiled.remove()
  })

  it.each(backends)(
    'SEC-133 end every process that uses too much, confined by %s',
    async (backend) => {
      for (const { what, command, ended } of eaters) {
        const place = workplace()
        for (const directory of [place, join(place, 'work')]) {
          chmodSync(directory, 0o755)
          chownSync(directory, normalUser, normalUser)
        }
        const shell = { ...shellOptions(place, backend, join(place, 'ledger')), limits: limitsFor(ended) }
        // One after the other: a host runs the commands of one request at once, and the files that appear in the
        // workspace count for each of them.
        const lines = [
          ...(await host.ask({ shell, runs: [{ command, timeoutMs: minutes }], env: { HOME: place } })),
          ...(await host.ask({ shell, runs: ['echo alive'], env: { HOME: place } })),
        ]
        const outcomes = lines.flatMap(({ outcome }): ShellOutcome[] =>
          outcome === undefined ? [] : [outcome],
        )
        expect(
          outcomes.map(({ limit, timedOut }) => ({ limit, timedOut })),
          `${what}: ${JSON.stringify(lines)}`,
        ).toEqual([{ limit: ended, timedOut: false }, { timedOut: false }])
      }
    },
    4 * minutes,
  )
})

describe('limits of a background job', () => {
  it(
    'end it, and the job reports which limit it reached',
    async () => {
      const shell = createLocalShell({
        ...shellOptions(workplace(), 'none'),
        limits: { memoryBytes: 48 * mebibyte },
      })
      try {
        const { id } = await shell.start('tail /dev/zero')
        await expect.poll(() => shell.jobs()[0]?.running, { timeout: 60_000 }).toBe(false)
        expect((await shell.readJob(id)).job.limit).toEqual({ limit: 'memory', max: 48 * mebibyte })
      } finally {
        await shell.close()
      }
      expect(groupsLeft()).toEqual([])
    },
    minutes,
  )
})

describe('a command within its limits', () => {
  it.each(backends)(
    'is not affected by them: %s',
    async (backend) => {
      const place = workplace()
      const limits = { memoryBytes: 256 * mebibyte, processes: 64, cpuSeconds: 30, diskBytes: 64 * mebibyte }
      const shell = createLocalShell({ ...shellOptions(place, backend), limits })
      try {
        const { exitCode, limit } = await shell.run(
          'for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero >f; sleep 0.1; rm f; done; (sleep 0.2 & sleep 0.2 & wait); touch done',
        )
        expect({ exitCode, limit }).toEqual({ exitCode: 0, limit: undefined })
        expect(existsSync(join(place, 'work/done'))).toBe(true)
      } finally {
        await shell.close()
      }
    },
    minutes,
  )
})
