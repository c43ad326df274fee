import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decide } from '../../../../test/support/decide-sbpl.js'
import { temporaryDirectory } from '../../../../test/support/temporary-directory.js'
import { holdLedger } from '../../shell/ledger.js'
import { doctor, provenSandbox } from '../doctor.js'
import { detectSandbox } from '../probe.js'
import { asKernel, realPath, seatbeltConfinement } from './confine-seatbelt.js'
import { readSbpl } from './read-sbpl.js'

/** A program in the place of `sandbox-exec`, which no other system than macOS has. */
function inPlaceOf(script: string): string {
  const path = join(temporaryDirectory(), 'sandbox-exec')
  writeFileSync(path, `#!/bin/bash\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}
const holdsNothing = 'shift 3; exec "$@"'

describe('the choice of Seatbelt', () => {
  it('happens on macOS only, and only when sandbox-exec exists', async () => {
    const program = inPlaceOf(holdsNothing)
    const missing = join(temporaryDirectory(), 'sandbox-exec')
    expect(await detectSandbox({ platform: 'darwin', sandboxExec: program })).toEqual({
      kind: 'seatbelt',
      path: program,
    })
    expect(await detectSandbox({ platform: 'darwin', sandboxExec: missing })).toMatchObject({
      kind: 'none',
      reason: `${missing} is missing`,
    })
    for (const options of [
      { platform: 'linux', backend: 'seatbelt' },
      { platform: 'darwin', backend: 'landlock' },
      { platform: 'win32' },
    ] as const)
      expect(await detectSandbox({ ...options, sandboxExec: program })).toMatchObject({ kind: 'none' })
  })

  it('does not happen when its own escape test succeeds, and the doctor reports it as unproven', async () => {
    const options = { platform: 'darwin', sandboxExec: inPlaceOf(holdsNothing) }
    expect(await provenSandbox(options)).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('does not confine'),
    })
    const [found, ...checks] = await doctor(options)
    expect(found).toMatchObject({ unproven: true, detail: expect.stringContaining('unproven') })
    expect(checks.filter(({ held }) => !held).map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'read a secret',
        'write outside the workspace',
        'links',
        'files denied by rules',
        'protected paths',
        'processes of the host',
        'network',
      ]),
    )
    expect(checks.find(({ check }) => check === 'commands work inside')).toMatchObject({ held: true })
  })

  it('does not happen when commands fail, as with a profile that the system cannot read', async () => {
    const options = { platform: 'darwin', sandboxExec: inPlaceOf('exit 65') }
    expect(await provenSandbox(options)).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(/commands work inside: .* is missing; it ended with 65/),
    })
  })
})

describe('a command under Seatbelt', () => {
  it('is started with a private profile of its own, which is removed when it has ended', async () => {
    const place = realPath(temporaryDirectory())
    for (const name of ['work/.git', 'home', 'tmp']) mkdirSync(join(place, name), { recursive: true })
    const root = join(place, 'work')
    writeFileSync(join(root, '.env'), 'SECRET=1\n')
    const { ledger, release } = await holdLedger(join(place, 'ledger'))
    try {
      const confinement = seatbeltConfinement({
        program: '/usr/bin/sandbox-exec',
        roots: [root],
        ledger,
        directory: ledger.privateDirectory,
        hidden: [{ kind: 'directory', path: place }],
        limits: {},
      })
      const launched = await confinement.confine({
        argv: ['/bin/sh', '-c', 'true'],
        cwd: root,
        home: join(place, 'home'),
        tmp: join(place, 'tmp'),
        marker: 'seatbelt',
        call: { unreadable: { key: {}, denies: (path) => path.endsWith('/.env') } },
      })
      const [option, file = '', end] = launched.args
      expect([launched.file, option, end]).toEqual(['/usr/bin/sandbox-exec', '-f', '--'])
      expect(launched.args.slice(-3)).toEqual(['/bin/sh', '-c', 'true'])
      const profile = readSbpl(readFileSync(file, 'utf8'))
      const may = (operation: string, path: string): string =>
        decide(profile, { operation, path: join(place, path) })
      expect(may('file-write-create', 'work/new')).toBe('allow')
      expect(may('file-read-data', 'work/.env')).toBe('deny')
      expect(may('file-read-data', 'ledger/x')).toBe('deny')
      for (const path of ['work/.git/config', 'work/.husky/x', 'work/.capstan/rules', 'work/a/.git'])
        expect([path, may('file-write-create', path)]).toEqual([path, 'deny'])
      await launched.finish({ exitCode: 0, output: '' })
      expect(existsSync(file)).toBe(false)
    } finally {
      await release()
    }
  })

  it('gets paths as the kernel writes them: through links, and by one of the two names of a volume', () => {
    const place = realPath(temporaryDirectory())
    mkdirSync(join(place, 'real'))
    symlinkSync('real', join(place, 'link'))
    const grant = {
      shown: [{ path: join(place, 'link'), how: 'writable' }],
      hidden: [],
      pins: [],
      tmp: join(place, 'link'),
      home: join(place, 'missing'),
      masked: [],
      sockets: [],
      rules: { names: [{ directory: join(place, 'link'), name: '.git' }], gitRoots: [join(place, 'link')] },
    } as const
    expect(asKernel(grant, realPath)).toEqual({
      ...grant,
      shown: [{ path: join(place, 'real'), how: 'writable' }],
      tmp: join(place, 'real'),
      rules: { names: [{ directory: join(place, 'real'), name: '.git' }], gitRoots: [join(place, 'real')] },
    })
    expect(realPath('/System/Volumes/Data/Users/ada')).toBe('/Users/ada')
  })
})
