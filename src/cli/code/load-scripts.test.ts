import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { loadScripts } from './load-scripts.js'

function folder(files: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return directory
}

const noImport = (specifier: string): Promise<never> =>
  Promise.reject(new Error(`unexpected import of ${specifier}`))

describe('scripts', () => {
  const files = {
    'start.js': 'exports.answer = () => require("./sum-aaaaaaaa.js").sum(40, 2)',
    'sum-aaaaaaaa.js':
      'globalThis.loads = (globalThis.loads ?? 0) + 1; exports.sum = (a, b) => a + b; exports.file = __filename',
  }

  it('load each other once, and are uncached until they are written to the cache', () => {
    const directory = folder(files)
    Object.assign(globalThis, { loads: 0 })
    const first = loadScripts(new Map(), noImport)
    const { answer } = first.load(join(directory, 'start.js')) as { answer(): number }
    // A file without a content hash in its name is not cached, so it is not new either.
    expect(first.isNew()).toBe(false)
    expect([answer(), answer()]).toEqual([42, 42])
    expect(Reflect.get(globalThis, 'loads')).toBe(1)
    expect(first.isNew()).toBe(true)
    expect([...first.code().keys()]).toEqual(['sum-aaaaaaaa.js'])

    const again = loadScripts(first.code(), noImport)
    expect((again.load(join(directory, 'start.js')) as { answer(): number }).answer()).toBe(42)
    expect(again.isNew()).toBe(false)
  })

  it('are compiled again when V8 rejects the cached code', () => {
    const directory = folder(files)
    const scripts = loadScripts(new Map([['sum-aaaaaaaa.js', Buffer.from('of another V8')]]), noImport)
    const path = join(directory, 'sum-aaaaaaaa.js')
    expect(scripts.load(path)).toMatchObject({ file: path })
    expect(scripts.isNew()).toBe(true)
  })

  it("load Node's own modules directly, and other modules with the given import function", async () => {
    const directory = folder({
      'imports-aaaaaaaa.js': 'exports.imported = (name) => importModule(name)',
    })
    const scripts = loadScripts(new Map(), async (specifier) => ({ specifier }))
    const { imported } = scripts.load(join(directory, 'imports-aaaaaaaa.js')) as {
      imported(name: string): Promise<unknown>
    }
    expect(await imported('node:path')).toHaveProperty('join', join)
    expect(await imported('zod')).toEqual({ specifier: 'zod' })
  })
})
