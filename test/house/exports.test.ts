import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { declaredExports, entries } from './package-entries.js'
import { printed, root, runNode } from './run.js'

type Names = { readonly values: readonly string[]; readonly types: readonly string[] }

const pinFile = 'test/house/public-exports.json'
const updating = process.env['UPDATE_EXPORTS'] === '1'

describe('the public names', () => {
  let actual: Readonly<Record<string, Names>> = {}

  beforeAll(async () => {
    actual = await readNames()
    if (updating) await writePins(actual)
  })

  it.each(entries)('of $specifier are those that are pinned', ({ specifier }) => {
    const pins: Partial<Record<string, Names>> = JSON.parse(readFileSync(join(root, pinFile), 'utf8'))
    expect(difference(specifier, pins[specifier], actual[specifier])).toBe('')
  })

  it('are pinned for entries that exist, and for no others', () => {
    const pins: object = JSON.parse(readFileSync(join(root, pinFile), 'utf8'))
    expect(Object.keys(pins)).toEqual(entries.map(({ specifier }) => specifier).sort())
  })

  it.each(entries)('of $specifier that exist at run time are all declared', ({ specifier, types }) => {
    const declared = declaredExports(types, readText)
    expect(actual[specifier]?.values.filter((name) => !declared.includes(name))).toEqual([])
  })
})

describe('the comparison of names', () => {
  it('says what was added, what was removed, and how to accept it', () => {
    const before = { values: ['createTool', 'old'], types: ['Tool'] }
    const after = { values: ['createTool'], types: ['NewTool', 'Tool'] }
    expect(difference('capstan', before, after)).toBe(
      `The public names of capstan have changed.
  gone: old
  new: type NewTool
If that is meant, run UPDATE_EXPORTS=1 npm test -- exports and tell it in CHANGELOG.md.`,
    )
  })

  it('detects a value that has become only a type', () => {
    const report = difference('capstan', { values: ['A'], types: [] }, { values: [], types: ['A'] })
    expect(report).toContain('gone: A')
    expect(report).toContain('new: type A')
  })
})

describe('the declaration reader', () => {
  it('follows re-exports of names and of everything, also of types only', () => {
    const files: Partial<Record<string, string>> = {
      'dist/index.d.ts': `export * from './a/index.js'\nexport { one as two, type Three } from './b.js'`,
      'dist/a/index.d.ts': `export type * from './types.js'\nexport declare const four: number\nexport default four`,
      'dist/a/types.d.ts': `export interface Five {}\nexport type Six = string\ninterface Hidden {}\nexport {}`,
    }
    expect(declaredExports('dist/index.d.ts', (path) => files[path] ?? '')).toEqual([
      'Five',
      'Six',
      'Three',
      'four',
      'two',
    ])
  })
})

/** Asks a real Node for the names, by the specifiers that users write. */
async function readNames(): Promise<Record<string, Names>> {
  const specifiers = entries.map(({ specifier }) => specifier)
  const script = `
    const names = {}
    for (const entry of ${JSON.stringify(specifiers)}) names[entry] = Object.keys(await import(entry))
    console.log(JSON.stringify(names))`
  const outcome = await runNode(['--input-type=module', '--eval', script])
  expect(outcome.code, printed(outcome)).toBe(0)
  const values: Record<string, string[]> = JSON.parse(outcome.stdout)
  return Object.fromEntries(
    entries
      .toSorted((a, b) => (a.specifier < b.specifier ? -1 : 1))
      .map(({ specifier, types }) => {
        const running = (values[specifier] ?? []).toSorted()
        const onlyTypes = declaredExports(types, readText).filter((name) => !running.includes(name))
        return [specifier, { values: running, types: onlyTypes }]
      }),
  )
}

async function writePins(names: Readonly<Record<string, Names>>): Promise<void> {
  writeFileSync(join(root, pinFile), `${JSON.stringify(names, null, 2)}\n`)
  // The formatter has its own mind about short lists.
  const outcome = await runNode(['node_modules/@biomejs/biome/bin/biome', 'format', '--write', pinFile])
  expect(outcome.code, printed(outcome)).toBe(0)
}

function difference(specifier: string, pinned: Names | undefined, actual: Names | undefined): string {
  const [before, after] = [listed(pinned), listed(actual)]
  const gone = before.filter((name) => !after.includes(name))
  const come = after.filter((name) => !before.includes(name))
  if (gone.length + come.length === 0) return ''
  return [
    `The public names of ${specifier} have changed.`,
    ...(gone.length > 0 ? [`  gone: ${gone.join(', ')}`] : []),
    ...(come.length > 0 ? [`  new: ${come.join(', ')}`] : []),
    'If that is meant, run UPDATE_EXPORTS=1 npm test -- exports and tell it in CHANGELOG.md.',
  ].join('\n')
}

function listed(names: Names | undefined): string[] {
  return [...(names?.values ?? []), ...(names?.types ?? []).map((name) => `type ${name}`)]
}

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}
