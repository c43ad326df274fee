import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isInstalled } from '../../scripts/installed-lock.mjs'
import { withAddresses } from '../../scripts/lock-addresses.mjs'
import { npmCommand, npmEnvironment } from '../../scripts/nested-npm.mjs'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { packageJson } from './package-entries.js'
import { root, run } from './run.js'

type LockedPackage = {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
type LockFile = { readonly version?: string; readonly packages: Readonly<Record<string, LockedPackage>> }

/** The folders of the repository that are installed by themselves. */
const { stdout } = await run('git', ['ls-files', '--', 'package-lock.json', '**/package-lock.json'], {
  cwd: root,
})
const folders = stdout.trim().split('\n').map(dirname)

const lockIn = (folder: string): LockFile =>
  JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'))

it('the repository has a lock file for itself and for the site', () => {
  expect(folders).toEqual(expect.arrayContaining(['.', 'site']))
})

describe.each(folders)('the lock file in %s', (folder) => {
  const { packages } = lockIn(folder)

  it('has a package for every optional dependency, so that npm ci installs on every platform', () => {
    expect(missingOptional({ packages })).toEqual([])
  })

  it('names no registry', () => {
    expect(Object.values(packages).flatMap(({ resolved }) => resolved ?? [])).toEqual([])
  })

  it('has an integrity hash for every package', () => {
    const unchecked = Object.entries(packages).flatMap(([path, { integrity }]) =>
      path === '' || integrity !== undefined ? [] : [path],
    )
    expect(unchecked).toEqual([])
  })
})

it('the lock file has the version of package.json', () => {
  const { version, packages } = lockIn('.')
  expect([version, packages['']?.version]).toEqual([packageJson.version, packageJson.version])
})

describe('the lock file that npm start and npm test install with', () => {
  it('has the address of every package in the configured registry, and is the same otherwise', () => {
    const packages = {
      '': { version: '1' },
      'node_modules/one': { version: '1.2.3', integrity: 'sha512-a' },
      'node_modules/one/node_modules/@scope/two': { version: '2.0.0-rc.1' },
      'node_modules/alias': { name: '@scope/real', version: '3.0.0' },
      'node_modules/elsewhere': { version: '4.0.0', resolved: 'git+ssh://host/a.git#1' },
      'node_modules/linked': { link: true, resolved: '../linked' },
    }
    const address = (path: string) => `https://registry.example/npm/${path}`
    expect(JSON.parse(withAddresses(JSON.stringify({ packages }), address('')))).toEqual({
      packages: {
        ...packages,
        'node_modules/one': {
          ...packages['node_modules/one'],
          resolved: address('one/-/one-1.2.3.tgz'),
        },
        'node_modules/one/node_modules/@scope/two': {
          version: '2.0.0-rc.1',
          resolved: address('@scope/two/-/two-2.0.0-rc.1.tgz'),
        },
        'node_modules/alias': {
          ...packages['node_modules/alias'],
          resolved: address('@scope/real/-/real-3.0.0.tgz'),
        },
      },
    })
  })
})

describe('an installation by npm itself', () => {
  const one = { version: '1.2.3', integrity: 'sha512-a' }
  const other = { version: '1.0.0', integrity: 'sha512-b', optional: true, os: [`not-${process.platform}`] }
  const lock = { packages: { '': { version: '1' }, 'node_modules/one': one, 'node_modules/other': other } }

  it('is used when it has every package of the lock file, except those for other platforms', () => {
    expect(isInstalled(lock, { packages: { 'node_modules/one': one } })).toBe(true)
    expect(isInstalled(lock, lock)).toBe(true)
  })

  it.each<[string, Parameters<typeof isInstalled>[1]['packages']]>([
    ['a package is missing', {}],
    ['a package has another version', { 'node_modules/one': { ...one, version: '1.2.4' } }],
    ['a package has other contents', { 'node_modules/one': { ...one, integrity: 'sha512-c' } }],
  ])('is repeated when %s', (_, packages) => {
    expect(isInstalled(lock, { packages })).toBe(false)
  })

  it('is repeated when an optional package for this platform is missing', () => {
    const { packages } = lock
    const own = { ...other, os: [process.platform], cpu: [process.arch] }
    expect(isInstalled({ packages: { ...packages, 'node_modules/own': own } }, { packages })).toBe(false)
  })
})

describe('npm that is started by a command of npm', () => {
  it.each(['dry_run', 'package_lock_only'])('installs although the command has %s', (option) => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'local'))
    const write = (file: string, value: object): void =>
      writeFileSync(join(directory, file), JSON.stringify(value))
    write('local/package.json', { name: 'local', version: '1.0.0' })
    write('package.json', { name: 'one', version: '1.0.0', dependencies: { local: 'file:local' } })
    const [command = '', ...args] = npmCommand(['install', '--no-audit', '--no-fund', '--offline'])
    const { status, stderr } = spawnSync(command, args, {
      cwd: directory,
      env: npmEnvironment({ ...process.env, [`npm_config_${option}`]: 'true' }),
      encoding: 'utf8',
      shell: process.platform === 'win32' && command === 'npm',
    })
    expect(status, stderr).toBe(0)
    expect(existsSync(join(directory, 'node_modules/local/package.json'))).toBe(true)
  })
})

describe('the search for missing packages', () => {
  it('finds an optional dependency without a package, next to its dependent or further out', () => {
    const packages = {
      '': { optionalDependencies: { top: '1' } },
      'node_modules/top': { optionalDependencies: { inner: '1', outer: '1', none: '1' } },
      'node_modules/top/node_modules/inner': { optionalDependencies: { outer: '1', 'not-here': '1' } },
      'node_modules/outer': {},
    }
    expect(missingOptional({ packages })).toEqual([
      'node_modules/top needs none',
      'node_modules/top/node_modules/inner needs not-here',
    ])
  })
})

/** As npm looks for them: from the dependent outwards. */
function missingOptional({ packages }: LockFile): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesFor(path, name).some((place) => Object.hasOwn(packages, place)))
      .map((name) => `${path} needs ${name}`),
  )
}

function placesFor(path: string, name: string): string[] {
  const outer = path.lastIndexOf('/node_modules/')
  const here = path === '' ? `node_modules/${name}` : `${path}/node_modules/${name}`
  if (path === '') return [here]
  return [here, ...placesFor(outer < 0 ? '' : path.slice(0, outer), name)]
}
