import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createScope, scopeManager } from './systemd-scope.js'

describe('a scope of systemd', () => {
  it('starts a command with its limits, and without the variables that only the manager needs', () => {
    const scope = createScope(
      { options: ['--user'], runtimeDir: '/run/user/7' },
      { memoryBytes: 5e8, processes: 40 },
    )
    const words = scope.start(['/bin/echo', '--', 'x'])
    expect(words.slice(0, 7)).toEqual([
      ...['/usr/bin/env', 'XDG_RUNTIME_DIR=/run/user/7', 'systemd-run', '--user', '--scope', '--quiet'],
      `--unit=${scope.unit}`,
    ])
    expect(words).toEqual(expect.arrayContaining(['MemoryMax=500000000', 'MemorySwapMax=0', 'TasksMax=40']))
    expect(words.slice(words.indexOf('--') + 1)).toEqual([
      ...['/usr/bin/env', '-u', 'XDG_RUNTIME_DIR', '-u', 'INVOCATION_ID', '/bin/echo', '--', 'x'],
    ])
  })

  it.runIf(!existsSync('/run/systemd/system'))(
    'is not used when the machine was not started by systemd',
    async () => {
      expect(await scopeManager()).toBeUndefined()
    },
  )
})
