import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../../test/support/temporary-directory.js'
import { binaries } from './binaries.js'
import { compileGuard, compilerVersion, digestOf, sourceDigest } from './build.mjs'
import { guardProgram, placeGuard, refusedPaths, underGuard } from './guard.js'

const arches = ['x64', 'arm64'] as const

describe('the shipped guard', () => {
  it.each(arches)('has the stated digest, and was built from the current source: %s', async (arch) => {
    expect(binaries[arch].source, 'run node src/workspace/sandbox/guard/build.mjs').toBe(sourceDigest())
    expect(digestOf((await guardProgram(arch)) ?? Buffer.of())).toBe(binaries[arch].digest)
  })

  it.each(arches)('equals the output of the stated compiler: %s', (arch) => {
    const version = compilerVersion(arch)
    if (version !== binaries[arch].compiler) {
      console.warn(
        `NOT COMPARED: the guard for ${arch} was made by ${binaries[arch].compiler}, and here is ${version ?? 'none'}.`,
      )
      return
    }
    expect(digestOf(compileGuard(arch))).toBe(binaries[arch].digest)
  })

  it('does not exist for other processors', async () => {
    expect(await guardProgram('riscv64')).toBeUndefined()
  })
})

/** In a PID namespace of its own, a guard that kills every process reaches none of the machine. */
const ownNamespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc']
const hasNamespaces = spawnSync('unshare', [...ownNamespace, 'true']).status === 0

it.runIf(hasNamespaces)(
  'the guard does not start where it would kill processes of others at its end',
  async () => {
    const guard = await placeGuard((await guardProgram()) ?? Buffer.of(), temporaryDirectory())
    const words = underGuard(['/bin/true'], { names: [], gitRoots: ['/tmp'] }, { program: guard })
    const run = '"$@"; echo "$?"'
    const { stdout, stderr } = spawnSync('unshare', [...ownNamespace, '/bin/sh', '-c', run, 'sh', ...words], {
      encoding: 'utf8',
    })
    expect({ stdout, stderr }).toEqual({
      stdout: '125\n',
      stderr: 'capstan guard: it is not the first process of its namespace\n',
    })
  },
)

describe('underGuard', () => {
  it('puts the rules before the program', () => {
    const rules = { names: [{ directory: '/w', name: '.npmrc' }], gitRoots: ['/w'] }
    expect(underGuard(['/bin/sh', '-c', 'x'], rules, { program: '/g', report: 4 })).toEqual([
      ...['/g', '--report', '4', '--git', '/w', '--name', '/w', '.npmrc', '--', '/bin/sh', '-c', 'x'],
    ])
  })
})

describe('refusedPaths', () => {
  it('reads each path once, and no path that was cut off', () => {
    expect(refusedPaths('/w/a\0/w/b\nc\0/w/a\0/w/cut')).toEqual(['/w/a', '/w/b\nc'])
    expect(refusedPaths('')).toEqual([])
  })
})
