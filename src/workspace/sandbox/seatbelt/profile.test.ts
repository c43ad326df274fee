import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decide } from '../../../../test/support/decide-sbpl.js'
import type { MountlessProfile } from '../mountless.js'
import { seatbeltProfile } from './profile.js'
import { readSbpl } from './read-sbpl.js'
import type { SbplFilter } from './sbpl.js'

const empty: MountlessProfile = {
  shown: [],
  hidden: [],
  pins: [],
  tmp: '/private/var/folders/x/T/tmp',
  home: '/private/var/folders/x/T/home',
  masked: [],
  sockets: [],
  rules: { names: [], gitRoots: [] },
}
const root = '/Users/ada/project'
const workspace: MountlessProfile = {
  ...empty,
  shown: [{ path: root, how: 'writable' }],
  hidden: [{ kind: 'directory', path: '/Users/ada' }],
  pins: [{ path: `${root}/.git`, how: 'read-only' }],
  rules: {
    names: ['.mcp.json', '.npmrc', '.capstan'].map((name) => ({ directory: root, name })),
    gitRoots: [root],
  },
}
const grants: Readonly<Record<string, MountlessProfile>> = {
  workspace,
  'git-commit': {
    ...workspace,
    pins: [
      { path: `${root}/.git`, how: 'own-mount' },
      { path: `${root}/.git/hooks`, how: 'read-only' },
      { path: `${root}/.git/config`, how: 'read-only' },
    ],
    rules: { ...workspace.rules, names: [{ directory: `${root}/.git`, name: 'commondir' }] },
  },
  'one-directory-and-a-host': {
    ...workspace,
    shown: [
      { path: root, how: 'read-only' },
      { path: `${root}/docs`, how: 'writable' },
      { path: '/Users/ada/.nvm', how: 'read-only' },
    ],
    masked: [{ kind: 'file', path: `${root}/docs/.env` }],
    sockets: [`${root}/docs/host.sock`],
    proxyPort: 53_128,
  },
  'names-that-look-like-rules': {
    ...empty,
    shown: [{ path: '/Users/ada/"))(allow default)((\\ "', how: 'writable' }],
    hidden: [{ kind: 'directory', path: '/Users/ada' }],
    masked: [{ kind: 'file', path: '/Users/ada/"))(allow default)((\\ "/a\n(b) é.[*]' }],
  },
}

describe('the profile of a grant', () => {
  it.each(Object.entries(grants))('equals the stored one: %s', (name, grant) => {
    const file = join(import.meta.dirname, 'golden', `${name}.sb`)
    const text = seatbeltProfile(grant)
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, text)
    expect(text).toBe(readFileSync(file, 'utf8'))
  })

  const judge =
    (grant: MountlessProfile) =>
    (operation: string, path: string): string =>
      decide(readSbpl(seatbeltProfile(grant)), { operation, path })

  it('denies what it does not name, and allows reading only the workspace of the home directory', () => {
    const may = judge(workspace)
    expect(may('file-read-data', `${root}/src/a.ts`)).toBe('allow')
    expect(may('file-write-create', `${root}/src/b.ts`)).toBe('allow')
    expect(may('file-read-data', '/Users/ada/.ssh/id_ed25519')).toBe('deny')
    expect(may('file-read-data', '/System/Volumes/Data/Users/ada/.ssh/id_ed25519')).toBe('deny')
    expect(may('file-read-metadata', '/Users/ada')).toBe('allow')
    expect(may('file-read-data', '/Users/ada')).toBe('deny')
    expect(may('file-read-data', '/Users/grace/notes')).toBe('deny')
    expect(may('file-read-data', '/private/tmp/other')).toBe('deny')
    expect(may('file-write-create', '/private/tmp/other')).toBe('deny')
    expect(may('file-read-data', '/usr/lib/dyld')).toBe('allow')
    expect(may('file-write-data', '/usr/local/bin/node')).toBe('deny')
    expect(may('file-read-data', '/private/etc/sudoers')).toBe('deny')
    expect(may('process-exec', '/Users/ada/bin/tool')).toBe('deny')
    for (const operation of ['network-outbound', 'mach-lookup', 'iokit-open', 'signal', 'sysctl-write'])
      expect(may(operation, '/')).toBe('deny')
  })

  it('protects control files in every spelling, also while they do not exist', () => {
    const may = judge(workspace)
    for (const name of [
      '.git',
      '.GIT',
      '.g\u200cit',
      '.gıt',
      'a/b/.Git/hooks/x',
      '.NPMRC',
      '.capﬅan',
      '.Mcp.json',
    ])
      expect([name, may('file-write-create', `${root}/${name}`)]).toEqual([name, 'deny'])
    for (const name of ['.gitignore', 'a.git', 'git', 'sub/.npmrc', '.mcp.jsonc'])
      expect([name, may('file-write-create', `${root}/${name}`)]).toEqual([name, 'allow'])
    expect(may('file-read-data', `${root}/.git/HEAD`)).toBe('allow')
    expect(may('file-write-unlink', root)).toBe('deny')
  })

  it('opens a git directory for a commit, without its hooks and configuration, and does not let it be moved', () => {
    const may = judge(grants['git-commit'] ?? workspace)
    expect(may('file-write-create', `${root}/.git/index.lock`)).toBe('allow')
    for (const path of ['hooks/pre-commit', 'HOOKS/pre-commit', 'config', 'commondir', 'x/.git/config'])
      expect([path, may('file-write-create', `${root}/.git/${path}`)]).toEqual([path, 'deny'])
    expect(may('file-write-unlink', `${root}/.git`)).toBe('deny')
    expect(may('file-write-create', `${root}/sub/.git/index`)).toBe('deny')
  })

  it('prevents moving a directory that contains something unreadable or read-only', () => {
    const masked = [{ kind: 'file', path: `${root}/a/b/.env` } as const]
    const may = judge({ ...workspace, masked })
    for (const path of ['a', 'a/b', 'a/b/.env'])
      expect(may('file-write-unlink', `${root}/${path}`)).toBe('deny')
    expect(may('file-write-unlink', `${root}/a/c`)).toBe('allow')
    expect(may('file-read-data', `${root}/A/B/.ENV`)).toBe('deny')
  })

  it('allows a command to connect to the port of the proxy and to nothing else', () => {
    const remotes = (grant: MountlessProfile) =>
      readSbpl(seatbeltProfile(grant)).rules.filter(({ operations }) =>
        operations.some((operation) => operation.startsWith('network')),
      )
    expect(remotes(workspace)).toEqual([])
    expect(remotes({ ...workspace, proxyPort: 4444 })).toEqual([
      {
        action: 'allow',
        operations: ['network-outbound'],
        filters: [{ kind: 'other', name: 'remote', words: [{ symbol: 'tcp' }, { text: 'localhost:4444' }] }],
      },
    ])
  })

  it.each([['relative/path'], ['/a/../b'], ['/a//b'], ['/a/.'], ['/a/'], [''], ['/a\0b'], ['/a\ud800b']])(
    'is rejected for a path that the kernel never writes: %j',
    (path) => {
      expect(() => seatbeltProfile({ ...empty, masked: [{ kind: 'file', path }] })).toThrow(TypeError)
    },
  )
})

/** Characters that mean something to the language, to patterns, to file systems, or to none of them. */
const letters = [
  'a',
  'B',
  '"',
  '\\',
  '(',
  ')',
  '\n',
  ' ',
  ';',
  '#',
  '*',
  '[',
  ']',
  '^',
  '$',
  '.',
  '|',
  '{',
  '+',
]
const nameOf = fc
  .array(fc.constantFrom(...letters, 'é', 'e\u0301', '🦀', '\u200c', '.git', 'x'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(''))
  .filter((name) => !/^\.{1,2}$/.test(name))
const pathOf = fc.array(nameOf, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join('/')}`)
/** Few names, so that places are often inside others. */
const placeOf = fc
  .array(fc.constantFrom('a', 'A', 'b', '.git', 'é', '"c'), { minLength: 1, maxLength: 4 })
  .map((names) => `/w/${names.join('/')}`)
const entry = fc.record({ kind: fc.constantFrom('file', 'directory'), path: placeOf })
const grantOf: fc.Arbitrary<MountlessProfile> = fc.record({
  shown: fc.array(fc.record({ path: placeOf, how: fc.constantFrom('read-only', 'writable') }), {
    maxLength: 4,
  }),
  hidden: fc.array(entry, { maxLength: 3 }),
  pins: fc.array(fc.record({ path: placeOf, how: fc.constantFrom('read-only', 'own-mount') }), {
    maxLength: 3,
  }),
  tmp: fc.constant('/w/tmp'),
  home: fc.constant('/w/home'),
  masked: fc.array(entry, { maxLength: 2 }),
  sockets: fc.array(placeOf, { maxLength: 1 }),
  rules: fc.record({
    names: fc.array(fc.record({ directory: placeOf, name: fc.constantFrom('.npmrc', 'b', '.git') }), {
      maxLength: 2,
    }),
    gitRoots: fc.array(placeOf, { maxLength: 2 }),
  }),
})

function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
/** The same to a volume that ignores case and composition. */
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
const isSame = (held: string, path: string): boolean => isInside(fold(held), fold(path))
/** The names on the way from a directory to a path inside it, as they are spelled in the path. */
function namesBelow(directory: string, path: string): string[] {
  return isSame(directory, path) ? path.split('/').slice(directory.split('/').length) : []
}
/** After a character outside ASCII, which can stand for letters, any letter of the name can be missing. */
function isLike(name: string, found: string, isLax = false): boolean {
  const mayMiss = isLax && /^[a-z]/i.test(name) && isLike(name.slice(1), found, true)
  if (found === '') return name === '' || mayMiss
  const [first = '', ...rest] = found
  const others = rest.join('')
  if (first < ' ' || first > '~') return isLike(name, others, true)
  return (first.toLowerCase() === name[0]?.toLowerCase() && isLike(name.slice(1), others, isLax)) || mayMiss
}

/** What a grant says of a path, in the words of the grant and not of the profile. */
function isGranted(grant: MountlessProfile, access: 'read' | 'write', path: string): boolean {
  if ([...grant.masked.map((each) => each.path), ...grant.sockets].some((held) => isSame(held, path)))
    return false
  const shown = new Map(grant.shown.map((each) => [each.path, each.how]))
  for (const own of [grant.tmp, grant.home]) shown.set(own, 'writable')
  const around = [...shown.keys(), ...grant.hidden.map((each) => each.path)].filter((place) =>
    isInside(place, path),
  )
  const innermost = around.toSorted((a, b) => b.length - a.length)[0]
  const how = innermost === undefined ? undefined : shown.get(innermost)
  if (how === undefined) return false
  if (access === 'read') return true
  if (how !== 'writable') return false
  const opened = grant.pins.filter((pin) => pin.how === 'own-mount').map((pin) => pin.path)
  /** The innermost opened directory around the path; what is held further out does not count in it. */
  const isOpenIn = (held: string): boolean =>
    opened.some((place) => place !== held && isInside(held, place) && isInside(place, path))
  if (grant.pins.some((pin) => pin.how === 'read-only' && isSame(pin.path, path) && !isOpenIn(pin.path)))
    return false
  for (const { directory, name } of grant.rules.names) {
    const held = `${directory}/${name}`
    const [first = ''] = namesBelow(directory, path)
    if (first !== '' && isLike(name, first) && !isOpenIn(held)) return false
  }
  const bases = grant.rules.gitRoots.length === 0 ? [] : [...grant.rules.gitRoots, ...opened]
  return !bases.some((base) => namesBelow(base, path).some((name) => isLike('.git', name)) && !isOpenIn(base))
}

function pathsIn(filter: SbplFilter): string[] {
  if (filter.kind === 'literal' || filter.kind === 'subpath') return [filter.path]
  if (filter.kind === 'require-all' || filter.kind === 'require-any') return filter.filters.flatMap(pathsIn)
  return []
}

describe('the profile of any grant', () => {
  const runs = { numRuns: 100 }

  it('contains every path as one string: no path becomes a rule, or a part of another path', () => {
    fc.assert(
      fc.property(pathOf, pathOf, (path, masked) => {
        const grant = {
          ...empty,
          shown: [{ path, how: 'writable' } as const],
          masked: [{ kind: 'file', path: masked } as const],
        }
        const { rules } = readSbpl(seatbeltProfile(grant))
        const plain = readSbpl(
          seatbeltProfile({
            ...empty,
            shown: [{ path: '/w', how: 'writable' }],
            masked: [{ kind: 'file', path: '/m' }],
          }),
        ).rules
        expect(rules.map(({ action, operations }) => [action, ...operations])).toEqual(
          plain.map(({ action, operations }) => [action, ...operations]),
        )
        expect(rules.at(-1)?.filters.flatMap(pathsIn)).toEqual([masked])
      }),
      runs,
    )
  })

  it('decides about every path as the grant does', () => {
    const asked = fc.oneof(
      placeOf,
      fc.tuple(placeOf, nameOf).map((parts) => parts.join('/')),
    )
    fc.assert(
      fc.property(grantOf, fc.array(asked, { minLength: 8, maxLength: 8 }), (grant, paths) => {
        const profile = readSbpl(seatbeltProfile(grant))
        const known = [...grant.shown, ...grant.hidden, ...grant.pins, ...grant.masked].flatMap(
          ({ path }) => [path, `${path}/x`, path.toUpperCase().replace('/W/', '/w/'), path.normalize('NFD')],
        )
        for (const path of [...paths, ...known]) {
          const read = decide(profile, { operation: 'file-read-data', path })
          const write = decide(profile, { operation: 'file-write-data', path })
          expect([path, 'read', read]).toEqual([
            path,
            'read',
            isGranted(grant, 'read', path) ? 'allow' : 'deny',
          ])
          expect([path, 'write', write]).toEqual([
            path,
            'write',
            isGranted(grant, 'write', path) ? 'allow' : 'deny',
          ])
        }
      }),
      runs,
    )
  })

  it('has every deny after the allows that it narrows, and every path once', () => {
    fc.assert(
      fc.property(grantOf, (grant) => {
        const { rules } = readSbpl(seatbeltProfile(grant))
        const share = (one: readonly string[], other: readonly string[]): boolean =>
          one.some((operation) => other.includes(operation))
        for (const [at, deny] of rules.entries()) {
          if (deny.action !== 'deny') continue
          const narrowed = deny.filters.flatMap(pathsIn)
          const later = rules
            .slice(at + 1)
            .filter(({ action, operations }) => action === 'allow' && share(operations, deny.operations))
            .flatMap(({ filters }) => filters.flatMap(pathsIn))
          expect(later.filter((allowed) => narrowed.some((path) => isInside(allowed, path)))).toEqual([])
        }
        const places = rules
          .filter(({ operations }) => operations.includes('file-read*'))
          .flatMap(({ filters }) =>
            filters.flatMap((filter) => (filter.kind === 'subpath' ? [filter.path] : [])),
          )
        expect(places.length).toBe(new Set(places).size)
        const named = [...grant.shown, ...grant.hidden].map(({ path }) => path)
        for (const path of named) expect(places.filter((place) => place === path)).toEqual([path])
      }),
      runs,
    )
  })
})
