// Compiles guard.c for both processors and writes binaries.ts. Needs gcc and, for arm64, aarch64-linux-gnu-gcc.
//
//   node src/workspace/sandbox/guard/build.mjs
//
// The same compiler makes the same bytes: no build id, no paths, no time. A test compiles again and compares, where it
// finds the version that binaries.ts names.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const directory = import.meta.dirname

export const compilers = { x64: 'x86_64-linux-gnu-gcc', arm64: 'aarch64-linux-gnu-gcc' }

const flags = [
  ...[
    '-std=gnu11',
    '-Os',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-ffreestanding',
    '-fno-builtin',
    '-fno-pic',
    '-fcf-protection=none',
  ],
  ...[
    '-fno-stack-protector',
    '-fno-asynchronous-unwind-tables',
    '-fno-ident',
    '-fno-tree-loop-distribute-patterns',
  ],
  ...['-nostdlib', '-static', '-no-pie', '-s', '-Wl,--build-id=none', '-Wl,-z,noexecstack', '-Wl,-z,norelro'],
  ...['-Wl,-z,max-page-size=65536', '-Wl,-z,common-page-size=4096', '-Wl,-z,noseparate-code'],
]

/** The version that a compiler states; undefined where it is not installed. @param {keyof typeof compilers} arch */
export function compilerVersion(arch) {
  try {
    return execFileSync(compilers[arch], ['--version'], { encoding: 'utf8', stdio: 'pipe' })
      .split('\n')[0]
      ?.replace(/^\S+ /, '')
  } catch {
    return undefined
  }
}

/** @param {keyof typeof compilers} arch */
export function compileGuard(arch) {
  const place = mkdtempSync(join(tmpdir(), 'capstan-guard-'))
  try {
    const own = arch === 'x64' ? flags : flags.filter((flag) => flag !== '-fcf-protection=none')
    execFileSync(compilers[arch], [...own, '-o', join(place, 'guard'), 'guard.c'], {
      cwd: directory,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return readFileSync(join(place, 'guard'))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** @param {Uint8Array} bytes */
export function digestOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

export function sourceDigest() {
  return digestOf(readFileSync(join(directory, 'guard.c')))
}

function binaryText(/** @type {keyof typeof compilers} */ arch) {
  const bytes = compileGuard(arch)
  return `  ${arch}: {
    source: '${sourceDigest()}',
    compiler: '${compilerVersion(arch)}',
    digest: '${digestOf(bytes)}',
    base64:
      '${bytes.toString('base64')}',
  },
`
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(
    join(directory, 'binaries.ts'),
    `/**
 * The guard as a static program for each processor. Written by build.mjs from guard.c: \`source\` is the SHA-256
 * digest of guard.c, \`digest\` that of the program.
 */
export const binaries = {
${binaryText('x64')}${binaryText('arm64')}} as const
`,
  )
}
