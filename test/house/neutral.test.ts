import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sharedDirectory } from '../support/temporary-directory.js'
import { walkModules } from './module-graph.js'
import { entries } from './package-entries.js'
import { printed, root, runNode } from './run.js'

const tool = entries.find(({ specifier }) => specifier === 'capstan/tool')?.script ?? ''

describe('capstan/tool', () => {
  it('imports no module of Node, neither itself nor through a dependency, not even dynamically', () => {
    const { problems, files } = walkModules(join(root, tool), { dynamic: true })
    expect(problems).toEqual([])
    // A walk that ends too early would promise too much.
    expect(files.length).toBeGreaterThan(2)
    expect(files.some((file) => file.includes('minisearch'))).toBe(true)
  })

  it('loads no schema library and no search engine before they are used', () => {
    const { packages } = walkModules(join(root, tool), { dynamic: false })
    expect(packages).not.toContain('zod')
    expect(packages).not.toContain('minisearch')
  })

  it('creates, calls and finds tools where only the language and the web APIs exist', async () => {
    // The globals that Node has and other runtimes have not; the loader keeps its own references to them.
    const script = `
      const { log } = console
      for (const name of ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name]
      const { createJsonTool, createLexicalToolIndex, ToolSet } = await import('capstan/tool')
      const add = createJsonTool({
        name: 'add',
        description: 'Add two numbers.',
        parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        execute: ({ a, b }) => a + b,
      })
      const index = await createLexicalToolIndex([add])
      const found = await index.search({ query: 'numbers', topK: 1 })
      log(typeof process, typeof Buffer, await ToolSet.fromTools([add]).call('add', '{"a":1,"b":2}'), found[0].id)`
    const outcome = await runNode(['--input-type=module', '--eval', script])
    expect(printed(outcome)).toBe('exit code 0\nundefined undefined 3 add\n')
  })
})

describe('the module graph', () => {
  const folder = sharedDirectory()
  const file = (path: string, text: string): string => {
    const full = join(folder, path)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, text)
    return full
  }

  it('finds a module of Node through files, dependencies and dynamic imports, with and without "node:"', () => {
    const first = file('one/index.js', `export * from './next.js'\nawait import('@made/up/part')`)
    file('one/next.js', `import { readFile } from 'fs/promises'`)
    file(
      'one/node_modules/@made/up/package.json',
      exportsOf({ './part': { import: { default: './part.js' } } }),
    )
    const part = file('one/node_modules/@made/up/part.js', `const fs = require('node:fs')`)
    const { problems, packages } = walkModules(first, { dynamic: true })
    expect(problems).toEqual([
      `${join(folder, 'one/next.js')} imports fs/promises`,
      `${part} imports node:fs`,
    ])
    expect(packages).toEqual(['@made/up'])
  })

  it('omits dynamic imports when configured so, and follows all others', () => {
    const first = file('two/index.js', `import './next.js'\nexport const later = () => import('lazy')`)
    file('two/next.js', `export { eager } from 'eager'`)
    file('two/node_modules/eager/package.json', '{ "main": "main.js" }')
    file('two/node_modules/eager/main.js', '')
    expect(walkModules(first, { dynamic: false }).packages).toEqual(['eager'])
  })

  it('prefers the neutral export condition of a package to the one for Node', () => {
    const first = file('three/index.js', `import 'both'`)
    file('three/node_modules/both/package.json', exportsOf({ node: './node.js', default: './web.js' }))
    const web = file('three/node_modules/both/web.js', '')
    expect(walkModules(first, { dynamic: true }).files).toEqual([first, web])
  })

  it('does not skip an import that it cannot parse', () => {
    const first = file('four/index.js', 'export const load = (name) => import(name)')
    expect(walkModules(first, { dynamic: true }).problems).toHaveLength(1)
  })
})

function exportsOf(map: unknown): string {
  return JSON.stringify({ exports: map })
}
