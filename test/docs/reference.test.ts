import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { entriesOf, renderReference, withReference } from '../../scripts/reference.mjs'
import pinned from '../house/public-exports.json' with { type: 'json' }

const path = 'docs/reference.md'
const page = readFileSync(path, 'utf8')

describe('docs/reference.md', () => {
  it('equals the declarations; if not: build, then node scripts/reference.mjs', () => {
    const entries = entriesOf(readFileSync('package.json', 'utf8'))
    const made = withReference(
      page,
      renderReference(entries, (file) => readFileSync(file, 'utf8')),
    )
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, made)
    else expect(page).toBe(made)
  })

  it('has every public name of every entry', () => {
    for (const [specifier, { values, types }] of Object.entries(pinned)) {
      const [section = ''] = page.split(`\n## ${specifier}\n`)[1]?.split('\n## ') ?? []
      const missing = [...values, ...types].filter(
        (name) => !new RegExp(`\`(class )?${name}\\b`).test(section),
      )
      expect(missing, specifier).toEqual([])
    }
  })
})

describe('renderReference', () => {
  const render = (
    files: Record<string, string>,
    entries = [{ specifier: 'made', types: 'dist/index.d.ts' }],
  ) =>
    renderReference(entries, (file) => {
      const text = files[file]
      if (text === undefined) throw new Error(`There is no ${file}`)
      return text
    })

  it('has one line for each name: its signature, and the first sentence of its comment', () => {
    const made = render({
      'dist/index.d.ts': `export * from './more.js'
export { b as c } from './more.js'
export { Kept } from './kept.js'
/** Says “hello”. And more. */
export declare function hello(name: string, options?: {
    /** Not shown. */
    readonly loud?: boolean;
}): Promise<string>;
`,
      'dist/more.d.ts': `/**
 * Something
 * long. Not shown.
 */
export type Shape = { readonly a: string; b?: number; };
export interface Wider extends Shape { run(): void }
export type Either = 'a' | 'b';
export type Joined = Partial<Shape> & { c: string };
declare const b: readonly string[];
export {};
`,
      'dist/kept.d.ts': `import { Above } from './above.js'
/** Is kept. */
export declare class Kept extends Above {
    #private;
    private secret;
    constructor(at: string);
    /** Where. */
    get place(): string;
}
`,
      'dist/above.d.ts': `export declare class Above { constructor(); go(): void; get place(): string }
`,
    })
    expect(made.split('\n').filter((line) => line.includes('- '))).toEqual([
      '- `class Kept`: Is kept.',
      '  - `new Kept(at: string)`',
      '  - `place: string`: Where.',
      '  - `go(): void`',
      '- `hello(name: string, options?: { loud?: boolean }): Promise<string>`: Says “hello”.',
      '- `c: readonly string[] (declared as b)`',
      "- `Either = 'a' | 'b'`",
      '- `Joined = Partial<Shape> & { c }`',
      '- `Shape { a, b? }`: Something long.',
      '- `Wider extends Shape { run() }`',
    ])
  })

  it('describes a name once, with the entry whose folder it is declared in', () => {
    const made = render(
      {
        'dist/index.d.ts': `export * from './tool/index.js'`,
        'dist/tool/index.d.ts': 'export declare function make(): void;',
      },
      [
        { specifier: 'made', types: 'dist/index.d.ts' },
        { specifier: 'made/tool', types: 'dist/tool/index.d.ts' },
      ],
    )
    expect(made).toContain('## made\n\nAlso here, from [made/tool](#madetool): `make`.')
    expect(made.split('make(): void')).toHaveLength(2)
  })

  it('rejects a name that is not declared, and a page without markers', () => {
    expect(() => render({ 'dist/index.d.ts': 'export { gone };' })).toThrow('exports gone')
    expect(() => withReference('# Reference', '')).toThrow('reference:begin')
  })
})
