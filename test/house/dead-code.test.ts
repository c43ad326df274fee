import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundled } from '../../scripts/bundle.mjs'
import { exportedNames, unreachedFiles, unusedExports, usedNames } from './live-names.js'
import { entrySources, packageJson } from './package-entries.js'
import { root } from './run.js'
import { isTest, listFiles, parseSource, readSource, readSources, type SourceFile } from './source-tree.js'

// Hand-written because it needs 70 lines on top of the source tree that the layer test reads anyway; knip would add
// twelve packages, two of them native parsers for every platform.

/** Names that are exported for tests, benchmarks or examples alone, each with its reason. */
const onlyForTests: Readonly<Record<string, string>> = {
  'src/model/well-known.ts#providers': 'the page on models is written from it',
  'src/workspace/files/keyed-lock.ts#lockedKeys':
    'that nothing is kept for unused paths cannot be seen from outside',
  'src/workspace/files/path-style.ts#macStyle': 'the rules of other systems are tested as text on this one',
  'src/workspace/files/path-style.ts#windowsStyle':
    'the rules of other systems are tested as text on this one',
  'src/workspace/limits/control-group.ts#removeLeftGroups':
    'not every test machine can create PID namespaces, and a process looks for left groups once',
  'src/workspace/sandbox/root-only-files.ts#searchRootOnly':
    'the directories of the system of a test machine have no service with many private files',
  'src/workspace/sandbox/seatbelt/confine-seatbelt.ts#asKernel': 'paths of macOS are tested on other systems',
  'src/workspace/shell/process-list.ts#parseProcesses':
    'what ps of macOS prints is tested as text on other systems',
  'src/workspace/search/ripgrep.ts#ripgrepPath': 'the test runs the very binary that is shipped',
  'src/tool/json-text.ts#locateJsonError': 'must also accept texts that the parser never passes to it',
}

describe('the sources', () => {
  const sources = readSources()
  const unused = unusedExports(sources, entrySources)

  it('export no name that nothing imports', () => {
    const dead = unused.filter((name) => !Object.hasOwn(onlyForTests, name))
    expect(dead, 'keep these inside their file, or list them in onlyForTests with the reason').toEqual([])
  })

  it('export names only for tests when they are listed, and the list has no others', () => {
    const inTests = usedNames(sources, readUsers(Object.keys(onlyForTests)))
    const stale = Object.keys(onlyForTests).filter((name) => !unused.includes(name) || !inTests.has(name))
    expect(stale, 'no longer exported, or used by more or by less than tests').toEqual([])
  })

  it('have no file that no entry file imports', () => {
    expect(entrySources.filter((path) => !sources.some((file) => file.path === path))).toEqual([])
    expect(unreachedFiles(sources, entrySources)).toEqual([])
  })

  it('import every package that is installed with them, and no other', () => {
    const declared = Object.keys(packageJson.dependencies ?? {})
    const allowed = [...declared, ...bundled, ...Object.keys(packageJson.peerDependencies ?? {})]
    const imported = importedPackages(sources)
    expect({
      neverImported: [...declared, ...bundled].filter((name) => !imported.includes(name)),
      neverDeclared: imported.filter((name) => !allowed.includes(name)),
    }).toEqual({ neverImported: [], neverDeclared: [] })
  })
})

describe('the search for unused names', () => {
  it('finds a value that nothing imports, or only its own file; types can be exported with what uses them', () => {
    const files = house({
      'src/index.ts': `export { a } from './tool/a.js'`,
      'src/tool/a.ts': `import { b } from './b.js'\nexport const a = b\nexport const own = a`,
      'src/tool/b.ts': 'export const b = 1\nexport type C = number',
    })
    expect(unusedExports(files, ['src/index.ts'])).toEqual(['src/tool/a.ts#own'])
  })

  it('finds a name that is only re-exported', () => {
    const files = house({
      'src/index.ts': '',
      'src/tool/index.ts': `export { a } from './a.js'\nexport * from './b.js'`,
      'src/tool/a.ts': 'export const a = 1',
      'src/tool/b.ts': 'export const b = 1',
    })
    expect(unusedExports(files, ['src/index.ts'])).toEqual([
      'src/tool/index.ts#a',
      'src/tool/a.ts#a',
      'src/tool/b.ts#b',
    ])
  })

  it('follows a name through renames, "export *", namespaces and dynamic imports', () => {
    const files = house({
      'src/index.ts': `export * from './tool/index.js'`,
      'src/tool/index.ts': `export { a as renamed } from './a.js'\nexport * as space from './b.js'`,
      'src/tool/a.ts': `export const a = 1\nconst { c } = await import('./c.js')`,
      'src/tool/b.ts': 'export const b = 1',
      'src/tool/c.ts': 'export const c = 1\nexport const d = 1',
    })
    expect(unusedExports(files, ['src/index.ts'])).toEqual(['src/tool/c.ts#d'])
  })

  it('finds the names that tests import', () => {
    const files = house({ 'src/tool/a.ts': 'export const a = 1\nexport const b = 1' })
    const tests = house({ 'test/tool/a.test.ts': `import { b } from '../../src/tool/a.js'` })
    expect(exportedNames(files).filter((name) => usedNames(files, tests).has(name))).toEqual([
      'src/tool/a.ts#b',
    ])
  })

  it('finds files that only import each other', () => {
    const files = house({
      'src/index.ts': `export { a } from './tool/a.js'`,
      'src/tool/a.ts': 'export const a = 1',
      'src/tool/b.ts': `import { c } from './c.js'\nexport const b = c`,
      'src/tool/c.ts': `import type { b } from './b.js'\nexport const c = 1`,
    })
    expect(unreachedFiles(files, ['src/index.ts'])).toEqual(['src/tool/b.ts', 'src/tool/c.ts'])
  })

  it('reads the package name of a specifier, and ignores modules of Node', () => {
    const files = house({
      'src/tool/a.ts': `import '@scope/one/part'\nimport type {} from 'two/part'\nimport 'node:fs'\nimport 'fs/promises'`,
    })
    expect(importedPackages(files)).toEqual(['@scope/one', 'two'])
  })
})

function importedPackages(files: readonly SourceFile[]): string[] {
  const specifiers = files.flatMap(({ references }) => references.map(({ specifier }) => specifier))
  const names = specifiers.flatMap((specifier) => /^(?:@[^/]+\/)?[^./][^/]*/.exec(specifier)?.[0] ?? [])
  return [...new Set(names)].filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
}

/** The tests, benchmarks and examples that mention one of these names. Parsing all of them takes seconds. */
function readUsers(exported: readonly string[]): SourceFile[] {
  const words = exported.map((name) => name.slice(name.indexOf('#') + 1))
  const mention = new RegExp(`\\b(?:${words.join('|')})\\b`)
  const tests = listFiles('src', /\.ts$/).filter(isTest)
  const others = ['test', 'bench', 'examples'].flatMap((folder) => listFiles(folder, /\.(ts|mjs|js)$/))
  return [...tests, ...others]
    .filter((path) => mention.test(readFileSync(join(root, path), 'utf8')))
    .map(readSource)
}

function house(files: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(files).map(([path, text]) => parseSource(path, text))
}
