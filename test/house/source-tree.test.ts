import { describe, expect, it } from 'vitest'
import { parseSource, resolveRelative, sourcePaths } from './source-tree.js'

function read(text: string) {
  return parseSource('src/tool/made-up.ts', text)
}

describe('the source reader', () => {
  it('finds every form of import', () => {
    const { references } = read(`
      import a, { b as c, type D } from './one.js'
      import * as all from './two.js'
      import type { E } from './three.js'
      import './four.js'
      export { f as g } from './five.js'
      export * from './six.js'
      export type * from './seven.js'
      const lazy = () => import('./eight.js')
      const { h, i: j } = await import(\`./nine.js\`)
      type K = import('./ten.js').L.M
    `)
    expect(
      references.map(({ specifier, kind, typeOnly, names }) => [specifier, kind, typeOnly, names]),
    ).toEqual([
      ['./one.js', 'import', false, ['default', 'b', 'D']],
      ['./two.js', 'import', false, ['*']],
      ['./three.js', 'import', true, ['E']],
      ['./four.js', 'import', false, []],
      ['./five.js', 'reexport', false, ['f']],
      ['./six.js', 'reexport', false, ['*']],
      ['./seven.js', 'reexport', true, ['*']],
      ['./eight.js', 'dynamic', false, ['*']],
      ['./nine.js', 'dynamic', false, ['h', 'i']],
      ['./ten.js', 'import', true, ['L']],
    ])
  })

  it('ignores comments, strings, templates and regular expressions', () => {
    const { references } = read(`
      // import a from './comment.js'
      /* export * from './block.js' */
      const text = "import b from './string.js'"
      const slashes = 'https://example.test' // and import('./after.js')
      const pattern = /['"/*]/
      import real from './real.js'
      const template = \`import c from './template.js' \${await import('./hole.js')} // \`
    `)
    expect(references.map(({ specifier }) => specifier)).toEqual(['./real.js', './hole.js'])
  })

  it('reads an import with only inline types as one that is loaded, as the compiler does here', () => {
    expect(read(`import { type A } from './a.js'`).references[0]?.typeOnly).toBe(false)
  })

  it('counts imports whose module is only known at run time', () => {
    expect(read(`await import(name); await import(\`./\${name}.js\`)`).computedImports).toBe(2)
  })

  it('finds every form of export', () => {
    const { exports } = read(`
      export const a = 1, { b, c: [d], ...e } = made
      export function f() {}
      export abstract class G {}
      export type H = string
      export interface I {}
      const j = 1
      export { j as k }
      export { l as m } from './one.js'
      export * from './two.js'
      export * as n from './three.js'
      export default j
    `)
    expect(exports).toEqual([
      ...['a', 'b', 'd', 'e', 'f', 'G'].map((name) => ({ name })),
      ...['H', 'I'].map((name) => ({ name, isType: true })),
      { name: 'k' },
      { name: 'm', from: { specifier: './one.js', name: 'l' } },
      { name: '*', from: { specifier: './two.js', name: '*' } },
      { name: 'n', from: { specifier: './three.js', name: '*' } },
      { name: 'default' },
    ])
  })

  it('distinguishes a file that only re-exports from one that does more', () => {
    expect(read(`/** About. */ export { a } from './a.js'\nexport type * from './b.js'`).onlyReexports).toBe(
      true,
    )
    expect(read(`export * from './a.js'\nexport const b = 1`).onlyReexports).toBe(false)
    expect(read(`import { a } from './a.js'\nexport { a }`).onlyReexports).toBe(false)
  })

  it('resolves the compiled name of a source to the source, and packages to nothing', () => {
    expect(resolveRelative('src/tool/search/a.ts', '../json.js')).toBe('src/tool/json.ts')
    expect(resolveRelative('test/house/a.ts', '../../src/index.js')).toBe('src/index.ts')
    expect(resolveRelative('src/tool/a.ts', 'zod')).toBeUndefined()
  })

  it('lists the sources of the package, without their tests', () => {
    const paths = sourcePaths()
    expect(paths).toContain('src/tool/search/lexical-index.ts')
    expect(paths.filter((path) => path.includes('.test'))).toEqual([])
  })
})
