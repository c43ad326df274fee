import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { buildTrap, type DoctorCheck, type Trap } from './doctor-trap.js'
import { rootOnlyFiles } from './root-only-files.js'

const isLinux = process.platform === 'linux'
const hasPerl = spawnSync('perl', ['-e', '1']).status === 0

// Two attempts could not succeed anywhere for a while, so the checks on them could not fail.
describe.runIf(isLinux)('the script of the self-test, when it is not confined', () => {
  it.each([
    ['with Perl', process.env['PATH'] ?? ''],
    ['without Perl', undefined],
  ])('finds everything that every user can do, %s', async (_, given) => {
    const checks = await checksWithoutSandbox({ path: given ?? pathWithoutPerl() })
    const found = foundBy(checks)
    const viaPerl = given !== undefined && hasPerl
    expect([...found.keys()]).toEqual(
      expect.arrayContaining([
        'modes, dates and links of files outside',
        'processes of the host',
        'files that run as their owner',
        'write outside the workspace',
        'read a secret',
        'environment',
        'network TCP',
        'network UDP',
        'sockets of the host',
        'capabilities',
        'kernel keyrings',
        'files denied by rules',
        'protected paths',
        'process escape',
        ...(viaPerl ? ['host Unix sockets'] : []),
      ]),
    )
    for (const way of [
      'a file outside was moved',
      'a file outside was emptied',
      'its mode was changed',
      'its date was changed',
      'hard-link',
      'symbolic-link',
      'a link led out',
      'through-proc',
    ])
      expect(found.get('modes, dates and links of files outside')).toContain(way)
    expect(found.get('read a secret')?.split(', ')).toEqual(
      expect.arrayContaining(['secret', 'environ', ...(readdirSync(homedir()).length > 0 ? ['home'] : [])]),
    )
    for (const way of ['process-signalled', 'process-read', 'process-write'])
      expect(found.get('processes of the host')).toContain(way)
    const setting = '/proc/sys/kernel/core_pattern'
    if (isWritable(setting)) expect(found.get('kernel settings')).toContain(`kernel-setting ${setting}`)
    const files = (await rootOnlyFiles([])).filter(
      (path) => /^\/etc\/[^/]*$/.test(path) && statSync(path).isFile(),
    )
    for (const path of files)
      expect(found.get('files that only root can read')).toContain(`root-only ${path}`)
    expect(found.get('environment')).toBe('env PATH_OF_THE_HOST')
    for (const socket of viaPerl ? ['host.sock', 'renamed.sock', 'abstract'] : [])
      expect(found.get('host Unix sockets')).toContain(`socket-connected ${socket}`)
    expect(found.get('network TCP')).toContain('tcp-host')
    expect(found.get('network TCP')).toContain('a connection arrived')
    for (const name of ['.mcp.json', 'a/.git', 'a/b/.git', 'a/b/nested/.git', '.husky/x', '.vscode/x'])
      expect(found.get('protected paths')).toContain(`${name} was made`)
    expect(found.get('protected paths')).toContain('moved-git')
    // The rest is refused to ordinary users, and to root in a container. Then there is nothing to find.
    for (const [command, check, word] of onlyAllowedToSome)
      if (isAllowed(command)) expect(found.get(check)?.split(', ')).toContain(word)
    for (const [check, word] of viaPerl && isAllowed('unshare -m true') ? onlyWithPerl : [])
      expect(found.get(check)?.split(', ')).toContain(word)
    expect(checks.find(({ check }) => check === 'commands work inside')?.held).toBe(true)
  })

  it.each([
    ['with Perl', process.env['PATH'] ?? ''],
    ['without Perl', undefined],
  ])('finds what changes a process that it cannot end, %s', async (_, given) => {
    const checks = await checksWithoutSandbox({
      path: given ?? pathWithoutPerl(),
      before: 'kill() { false; }\n',
    })
    const found = foundBy(checks).get('processes of the host')?.split(', ')
    expect(found).toEqual(expect.arrayContaining(['a limit was changed', 'a priority was changed']))
    if (given !== undefined && hasPerl && isAllowed('unshare -m true')) expect(found).toContain('traced')
  })

  it('has a check for every word that it can report', async () => {
    await withTrap(async (trap) => {
      const ended = { output: 'started\ntried-all\nfinished\n', errors: '', survivors: 0 }
      const before = new Set((await trap.judge(ended)).filter(({ held }) => !held).map(({ check }) => check))
      const words = Array.from(
        trap.script.matchAll(/\b(?:echo|try) "?([a-z][a-z-]+)/g),
        ([, word]) => word ?? '',
      )
      const reported = words.filter(
        (word) => !['started', 'finished', 'wrote-inside', 'no-perl'].includes(word),
      )
      expect(reported.length).toBeGreaterThan(50)
      for (const word of reported) {
        const checks = await trap.judge({ ...ended, output: `${ended.output}${word} detail\n` })
        const failed = checks.filter(({ check, held }) => !held && !before.has(check))
        expect(
          failed.map(({ detail }) => detail),
          word,
        ).toEqual([`${word} detail`])
      }
    })
  })

  it('is not trusted when Perl or the script ends too early', async () => {
    await withTrap(async (trap) => {
      for (const [output, why] of [
        ['started\nfinished\n', 'Perl did not run to its end'],
        ['started\ntried-all\n', 'the test did not run to its end (bwrap: refused)'],
      ] as const) {
        const checks = await trap.judge({ output, errors: 'bwrap: refused\n', survivors: 0 })
        expect(foundBy(checks).get('commands work inside')).toContain(why)
      }
    })
  })
})

/** A command, and what the script finds where it is allowed. */
const onlyAllowedToSome = [
  ['unshare -m true', 'nested namespace', 'mounts'],
  ['unshare -m true', 'nested namespace', 'mount'],
  ['unshare -U true', 'nested namespace', 'nested'],
  ['d=$(mktemp -d) && mknod $d/device c 1 3 && rm -r $d', 'devices', 'a device was made'],
] as const

const onlyWithPerl = [
  ['kernel calls', 'kernel-call 425'],
  ['sockets below IP', 'raw-socket 2'],
  ['sockets below IP', 'raw-socket 17'],
  ['sockets below IP', 'raw-socket 10'],
  ['files by handle', 'file-handle'],
  ['nested namespace', 'new-mount'],
  ['kernel keyrings', 'keyring'],
] as const

function isAllowed(command: string): boolean {
  return spawnSync('/bin/sh', ['-c', command], { stdio: 'ignore' }).status === 0
}

function foundBy(checks: readonly DoctorCheck[]): Map<string, string> {
  return new Map(checks.filter(({ held }) => !held).map(({ check, detail }) => [check, detail]))
}

/** A search path with all programs that the script uses, except Perl. */
function pathWithoutPerl(): string {
  const directory = temporaryDirectory()
  const names =
    'mkdir mv ln chmod touch truncate mknod mount umount unshare true prlimit renice keyctl setsid sleep'
  for (const name of names.split(' ')) {
    const program = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].map((at) => join(at, name)).find(existsSync)
    if (program !== undefined) symlinkSync(program, join(directory, name))
  }
  return directory
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

async function withTrap<Result>(use: (trap: Trap) => Promise<Result>): Promise<Result> {
  process.env['PATH_OF_THE_HOST'] = '1'
  const trap = await buildTrap(temporaryDirectory(), { guarded: true, namespaces: true }).finally(
    () => delete process.env['PATH_OF_THE_HOST'],
  )
  try {
    return await use(trap)
  } finally {
    await trap.close()
  }
}

function checksWithoutSandbox({
  path,
  before = '',
}: {
  path: string
  before?: string
}): Promise<DoctorCheck[]> {
  return withTrap(async (trap) => {
    const words = ['--noprofile', '--norc', '-c', `${before}${trap.script}`]
    const script = spawn('/bin/bash', words, {
      cwd: trap.root,
      env: { PATH: path, PATH_OF_THE_HOST: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    let output = ''
    script.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    await once(script, 'close')
    return await trap.judge({ output, errors: '', survivors: 0 })
  })
}
