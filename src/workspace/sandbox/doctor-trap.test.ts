import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { buildTrap, type DoctorCheck } from './doctor-trap.js'
import { rootOnlyFiles } from './root-only-files.js'

// Two attempts could not succeed anywhere for a while, so the checks on them could not fail.
it.runIf(process.platform === 'linux')(
  'finds everything that every user can do, when its script is not confined',
  async () => {
    const checks = await checksWithoutSandbox()
    const found = new Map(checks.filter(({ held }) => !held).map(({ check, detail }) => [check, detail]))
    expect([...found.keys()]).toEqual(
      expect.arrayContaining([
        'modes, dates and links of files outside',
        'processes of the host',
        'write outside the workspace',
        'read a secret',
        'environment',
        'network TCP',
        'network UDP',
        'capabilities',
        'kernel keyrings',
        'files denied by rules',
        'protected paths',
        'host Unix sockets',
      ]),
    )
    for (const way of ['a file outside was moved', 'hard-link', 'symbolic-link', 'through-proc'])
      expect(found.get('modes, dates and links of files outside')).toContain(way)
    expect(found.get('read a secret')?.split(', ')).toEqual(
      expect.arrayContaining(['secret', ...(readdirSync(homedir()).length > 0 ? ['home'] : [])]),
    )
    const setting = '/proc/sys/kernel/core_pattern'
    if (isWritable(setting)) expect(found.get('kernel settings')).toContain(`kernel-setting ${setting}`)
    const files = (await rootOnlyFiles([])).filter(
      (path) => /^\/etc\/[^/]*$/.test(path) && statSync(path).isFile(),
    )
    for (const path of files)
      expect(found.get('files that only root can read')).toContain(`root-only ${path}`)
    expect(found.get('environment')).toBe('env PATH_OF_THE_HOST')
    for (const socket of ['host.sock', 'renamed.sock', 'abstract'])
      expect(found.get('host Unix sockets')).toContain(`socket-connected ${socket}`)
    expect(found.get('network TCP')).toContain('a connection arrived')
    expect(found.get('protected paths')).toContain('.mcp.json was made')
    expect(checks.find(({ check }) => check === 'commands work inside')?.held).toBe(true)
  },
)

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

async function checksWithoutSandbox(): Promise<DoctorCheck[]> {
  process.env['PATH_OF_THE_HOST'] = '1'
  const trap = await buildTrap(temporaryDirectory(), { guarded: true, namespaces: true }).finally(
    () => delete process.env['PATH_OF_THE_HOST'],
  )
  try {
    const script = spawn('/bin/bash', ['--noprofile', '--norc', '-c', trap.script], {
      cwd: trap.root,
      env: { PATH: process.env['PATH'], PATH_OF_THE_HOST: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    let output = ''
    script.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    await once(script, 'close')
    return await trap.judge(output, 0)
  } finally {
    await trap.close()
  }
}
