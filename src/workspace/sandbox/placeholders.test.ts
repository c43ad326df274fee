import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { holdLedger } from '../shell/ledger.js'
import { bubblewrapConfinement } from './confine-bubblewrap.js'
import { detectSandbox } from './probe.js'

const sandbox = await detectSandbox({ backend: 'bubblewrap' })

describe.runIf(sandbox.kind === 'bubblewrap')('a sandbox on a machine where the guard does not work', () => {
  it('covers missing control files with placeholders, and leaves none', async () => {
    const place = temporaryDirectory()
    for (const name of ['work', 'home', 'tmp']) mkdirSync(join(place, name))
    const root = join(place, 'work')
    const { ledger, release } = await holdLedger(join(place, 'ledger'))
    try {
      const confinement = bubblewrapConfinement({
        bwrap: sandbox.kind === 'bubblewrap' ? sandbox.path : '',
        guard: undefined,
        roots: [root],
        ledger,
        directory: ledger.privateDirectory,
        hidden: [],
        limits: {},
      })
      const script =
        'for n in .npmrc .vscode/x .git/x; do echo x > $n; mkdir $n; done 2>/dev/null; ls -A; cat /proc/1/comm'
      const launched = await confinement.confine({
        argv: ['/bin/sh', '-c', script],
        cwd: root,
        home: join(place, 'home'),
        tmp: join(place, 'tmp'),
        marker: 'placeholders',
      })
      const { file, args, cwd, env } = launched
      const { stdout } = spawnSync(file, args, { cwd, env, encoding: 'utf8' })
      expect(stdout).toContain('.npmrc\n')
      expect(stdout).toMatch(/\nbwrap\n$/)
      await launched.finish({ exitCode: 0, output: '' })
      expect(readdirSync(root)).toEqual([])
    } finally {
      await release()
    }
  })
})
