import { describe, expect, it } from 'vitest'
import { binaries } from './binaries.js'
import { compileGuard, compilerVersion, digestOf, sourceDigest } from './build.mjs'
import { guardProgram, refusedPaths, underGuard } from './guard.js'

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
