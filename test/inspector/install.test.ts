import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../house/run.js'
import { directory } from '../server/support.js'

const shell = 'install -y --no-install-recommends chromium-headless-shell\n'
const skipped = 'Chromium cannot be installed here: the tests of the inspector in a browser are skipped.\n'

describe.runIf(process.platform === 'linux')('Chromium for the tests of the inspector', () => {
  it.each([
    { where: 'it is there', programs: { chromium: 'exit 1' }, says: '', asks: '' },
    {
      where: 'its headless shell is there',
      programs: { 'chromium-headless-shell': 'exit 1' },
      says: '',
      asks: '',
    },
    {
      where: 'a package can be installed',
      programs: { id: 'echo 0', 'apt-get': 'echo "$@" >> "$LOG"' },
      says: 'Chromium is installed for the tests of the inspector.\n',
      asks: `update\n${shell}`,
    },
    {
      where: 'the packages have no headless shell',
      programs: {
        id: 'echo 0',
        'apt-get': 'echo "$@" >> "$LOG"; case "$*" in *shell) exit 100 ;; esac',
      },
      says: 'Chromium is installed for the tests of the inspector.\n',
      asks: `update\n${shell}install -y --no-install-recommends chromium\n`,
    },
    {
      where: 'the installation fails',
      programs: { id: 'echo 0', 'apt-get': 'echo "$@" >> "$LOG"; exit 100' },
      says: skipped,
      asks: 'update\n',
    },
    {
      where: 'the user is not root',
      programs: { id: 'echo 1000', 'apt-get': 'exit 1' },
      says: skipped,
      asks: '',
    },
    { where: 'there are no packages', programs: { id: 'echo 0' }, says: skipped, asks: '' },
  ])('is installed in CI, or skipped with a message, where $where', ({ programs, says, asks }) => {
    const bin = directory()
    const log = join(bin, 'log')
    for (const [name, line] of Object.entries(programs)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    const timeout = ['/usr/bin/timeout', '/bin/timeout'].find((path) => existsSync(path))
    if (timeout !== undefined) symlinkSync(timeout, join(bin, 'timeout'))
    const done = spawnSync('/bin/bash', [join(root, '.ci/chromium')], {
      env: { PATH: bin, LOG: log },
      encoding: 'utf8',
    })
    expect([done.status, done.stdout, done.stderr]).toEqual([0, says, ''])
    expect(existsSync(log) ? readFileSync(log, 'utf8') : '').toBe(asks)
  })
})
