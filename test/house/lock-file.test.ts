import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageJson } from './package-entries.js'
import { root } from './run.js'

type LockedPackage = {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
type LockFile = { readonly version: string; readonly packages: Readonly<Record<string, LockedPackage>> }

const lock: LockFile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))

describe('the lock file', () => {
  it('has a package for every optional dependency, so that npm ci installs on every platform', () => {
    expect(missingOptional(lock)).toEqual([])
  })

  it('has the version of package.json, and names no registry', () => {
    expect(lock.version).toBe(packageJson.version)
    expect(lock.packages['']?.version).toBe(packageJson.version)
    expect(Object.values(lock.packages).flatMap(({ resolved }) => resolved ?? [])).toEqual([])
  })

  it('has an integrity hash for every package', () => {
    const unchecked = Object.entries(lock.packages).flatMap(([path, { integrity }]) =>
      path === '' || integrity !== undefined ? [] : [path],
    )
    expect(unchecked).toEqual([])
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
    expect(missingOptional({ version: '1', packages })).toEqual([
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
