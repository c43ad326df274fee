import { describe, expect, it } from 'vitest'
import { importCycles, kernelProblems, layerProblems } from './layers.js'
import { parseSource, readSources } from './source-tree.js'

describe('the source tree', () => {
  const sources = readSources()

  it('has folders that import only from lower layers, and entry files that only re-export', () => {
    expect(sources.length).toBeGreaterThan(0)
    expect(layerProblems(sources)).toEqual([])
  })

  it('has a session kernel that imports no feature', () => {
    expect(kernelProblems(sources)).toEqual([])
  })

  it('has no files that import each other in a cycle', () => {
    expect(importCycles(sources)).toEqual([])
  })
})

describe('the check of the layers', () => {
  it('allows a folder to import from lower layers and from itself, and an entry file from everywhere', () => {
    const files = house({
      'src/index.ts': `export * from './loop/run.js'`,
      'src/loop/run.ts': `import { step } from './step.js'\nimport type { Tool } from '../tool/contract.js'`,
      'src/loop/step.ts': `import { z } from 'zod'\nexport const step = z`,
      'src/tool/contract.ts': 'export type Tool = {}',
    })
    expect(layerProblems(files)).toEqual([])
  })

  it.each([
    ['an import', `import { run } from '../loop/run.js'`],
    ['an import of types', `import type { Run } from '../loop/run.js'`],
    ['a type in place', `type Run = import('../loop/run.js').Run`],
    ['a re-export', `export { run } from '../loop/run.js'`],
    ['an import when it runs', `await import('../loop/run.js')`],
  ])('rejects an import of a higher layer by %s', (_, text) => {
    const files = house({ 'src/tool/contract.ts': text, 'src/loop/run.ts': 'export const run = 1' })
    expect(layerProblems(files)).toEqual([
      'src/tool/contract.ts imports src/loop/run.ts from layer 6, above its own layer 1: a folder imports only from layers below',
    ])
  })

  it('rejects an import between two folders of one layer', () => {
    const files = house({
      'src/hooks/a.ts': `import { b } from '../memory/b.js'`,
      'src/memory/b.ts': 'export const b = 1',
    })
    expect(layerProblems(files)).toEqual([expect.stringContaining('from the same layer 7')])
  })

  it('requires a layer for an unknown folder, once', () => {
    const files = house({
      'src/attic/a.ts': `import { b } from '../tool/b.js'`,
      'src/attic/c.ts': '',
      'src/tool/b.ts': `export const b = 1`,
    })
    expect(layerProblems(files)).toEqual(['src/attic/ has no layer: give it one in test/house/layers.ts'])
  })

  it('rejects code in an entry file, and imports of entry files', () => {
    const files = house({
      'src/index.ts': `export * from './tool/a.js'\nexport const version = '1'`,
      'src/tool/a.ts': `import { version } from '../index.js'`,
    })
    expect(layerProblems(files)).toEqual([
      expect.stringContaining('src/tool/a.ts imports src/index.ts: entry files are for users'),
      expect.stringContaining('src/index.ts is outside every folder, so it may only re-export'),
    ])
  })

  it('rejects an import that leaves src/', () => {
    const files = house({ 'src/tool/a.ts': `import { b } from '../../test/house/b.js'` })
    expect(layerProblems(files)).toEqual([expect.stringContaining('which is not a source file of src/')])
  })
})

describe('the check for import cycles', () => {
  it('shows the cycle', () => {
    const files = house({
      'src/tool/a.ts': `import './b.js'`,
      'src/tool/b.ts': `export * from './c.js'`,
      'src/tool/c.ts': `await import('./b.js')`,
    })
    expect(importCycles(files)).toEqual(['src/tool/b.ts -> src/tool/c.ts -> src/tool/b.ts'])
  })

  it('finds a file that imports itself', () => {
    expect(importCycles(house({ 'src/tool/a.ts': `import { a } from './a.js'` }))).toHaveLength(1)
  })

  it('allows types that refer to each other, and two paths to one file', () => {
    const files = house({
      'src/tool/a.ts': `import type { B } from './b.js'\nimport './c.js'`,
      'src/tool/b.ts': `import './a.js'\nimport './c.js'`,
      'src/tool/c.ts': `export type { A } from './a.js'`,
    })
    expect(importCycles(files)).toEqual([])
  })
})

function house(files: Readonly<Record<string, string>>) {
  return Object.entries(files).map(([path, text]) => parseSource(path, text))
}
