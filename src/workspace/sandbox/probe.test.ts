import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createLocalShell } from '../shell/local-shell.js'
import { doctor, provenSandbox } from './doctor.js'
import { detectSandbox } from './probe.js'

let place: string
beforeEach(() => {
  place = temporaryDirectory()
  mkdirSync(join(place, 'work'))
})

function fakeBubblewrap(script: string): string {
  const path = join(place, 'bwrap')
  writeFileSync(path, `#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 9.9; exit 0; }\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

describe('detectSandbox', () => {
  it('says what to install when bubblewrap is missing', async () => {
    expect(await detectSandbox({ backend: 'bubblewrap', bubblewrap: join(place, 'missing') })).toEqual({
      kind: 'none',
      reason: 'bubblewrap is not installed',
      advice: expect.stringMatching(/apt-get install bubblewrap/),
    })
  })

  it.each([
    [
      'echo "bwrap: No permissions to create new namespace" >&2; exit 1',
      /user namespaces are switched off/,
      /sysctl/,
    ],
    [
      `echo "bwrap: Can't mount proc on /newroot/proc: Operation not permitted" >&2; exit 1`,
      /may not mount \/proc/,
      /container/,
    ],
    ['echo "bwrap: Unknown option --disable-userns" >&2; exit 1', /too old/, /0\.8/],
    ['exit 1', /does not work/, /Install/],
  ])('explains %s, also when commands are to be confined', async (script, reason, advice) => {
    const options = { backend: 'bubblewrap', bubblewrap: fakeBubblewrap(script) } as const
    const explained = {
      kind: 'none',
      reason: expect.stringMatching(reason),
      advice: expect.stringMatching(advice),
    }
    expect(await detectSandbox(options)).toMatchObject(explained)
    expect(await provenSandbox(options)).toMatchObject(explained)
  })
})

const real = await detectSandbox({ backend: 'bubblewrap' })

describe.runIf(real.kind === 'bubblewrap')('a machine where the guard does not work', () => {
  it('still has a working sandbox, with placeholders, and the doctor says why', async () => {
    const bwrap = real.kind === 'bubblewrap' ? real.path : ''
    const unable = fakeBubblewrap(
      `case " $* " in *" --as-pid-1 "*) echo "no guard today" >&2; exit 1 ;; esac; exec ${bwrap} "$@"`,
    )
    expect(await detectSandbox({ backend: 'bubblewrap', bubblewrap: unable })).toMatchObject({
      kind: 'bubblewrap',
      unguarded: expect.stringContaining('no guard today'),
    })
    expect(await provenSandbox({ backend: 'bubblewrap', bubblewrap: unable })).toMatchObject({
      kind: 'bubblewrap',
      unguarded: expect.stringContaining('no guard today'),
    })
    const [found, ...tried] = await doctor({ backend: 'bubblewrap', bubblewrap: unable })
    expect(found?.detail).toMatch(/placeholders.*no guard today/)
    expect(tried.filter(({ held }) => !held)).toEqual([])
  })
})

describe('a machine without a working sandbox (SEC-134)', () => {
  function shell(
    sandbox: 'auto' | 'required' | 'bubblewrap',
    bubblewrap: string,
    notices: string[],
  ): ReturnType<typeof createLocalShell> {
    return createLocalShell({
      root: join(place, 'work'),
      ledgerDir: join(place, 'ledger'),
      sandbox,
      sandboxOptions: { backend: sandbox === 'bubblewrap' ? undefined : 'bubblewrap', bubblewrap },
      onNotice: (text) => notices.push(text),
    })
  }

  it.each([
    ['a sandbox is required', 'required'],
    ['the missing one is named, whatever else works', 'bubblewrap'],
  ] as const)('runs nothing when %s, and says what to install', async (_, mode) => {
    const notices: string[] = []
    const required = shell(mode, join(place, 'missing'), notices)
    await expect(required.run('echo x')).rejects.toMatchObject({
      code: 'sandbox_unavailable',
      message: expect.stringMatching(/apt-get install bubblewrap/),
    })
    await expect(required.start('echo x')).rejects.toMatchObject({ code: 'sandbox_unavailable' })
    await required.close()
  })

  it('runs without one when the host allows it, and reports it once', async () => {
    const notices: string[] = []
    const auto = shell('auto', join(place, 'missing'), notices)
    expect(await auto.run('echo x')).toMatchObject({ output: 'x\n', sandbox: 'none' })
    await auto.run('echo y')
    expect(notices).toEqual([expect.stringMatching(/without a sandbox.*bubblewrap is not installed/)])
    await auto.close()
  })

  it('does not trust a bubblewrap that only starts its command, and leaves nothing behind (SEC-135)', async () => {
    const fake = fakeBubblewrap(
      'while [ "$1" != -- ]; do [ "$1" = --chdir ] && cd "$2"; shift; done; shift; exec "$@"',
    )
    const required = shell('required', fake, [])
    // At once: each looks for seconds whether the processes that it has left end.
    const [checks] = await Promise.all([
      doctor({ backend: 'bubblewrap', bubblewrap: fake }),
      expect(required.run('echo x')).rejects.toThrow(/does not confine/),
    ])
    const broken = checks.filter(({ held }) => !held).map(({ check }) => check)
    expect(broken).toEqual(
      expect.arrayContaining([
        'write outside the workspace',
        'network TCP',
        'network UDP',
        'protected paths',
        'host Unix sockets',
        'modes, dates and links of files outside',
        'processes of the host',
      ]),
    )
    await required.close()
    // Another test may make such files at the same time, and removes them.
    await vi.waitFor(() => {
      const left = ['/etc', '/usr', '/var', homedir()].flatMap((path) => readdirSync(path))
      expect(left.filter((name) => name.startsWith('capstan-doctor-'))).toEqual([])
    }, 60_000)
  })
})
