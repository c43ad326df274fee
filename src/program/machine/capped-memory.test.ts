import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { withMemoryMaximum } from './capped-memory.js'
import { loadEngine } from './engine.js'

const path = createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')
const engine = new Uint8Array(readFileSync(path))
const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
/** A module that has only a memory of one page, and exports it. */
const small = (limits: number[]) =>
  Uint8Array.from([...header, 5, limits.length + 1, 1, ...limits, 7, 5, 1, 1, 0x6d, 2, 0])

async function memoryOf(given: Uint8Array<ArrayBuffer> | WebAssembly.Module): Promise<WebAssembly.Memory> {
  const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given)
  const imports: Record<string, Record<string, () => number>> = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    imports[from] = { ...imports[from], [name]: () => 0 }
  const { exports } = await WebAssembly.instantiate(module, imports)
  const memory = Object.values(exports).find((one) => one instanceof WebAssembly.Memory)
  if (memory === undefined) throw new Error('no memory is exported')
  return memory
}

describe('a memory with a maximum', () => {
  it('grows up to it and no further', async () => {
    for (const limits of [
      [0, 1],
      [1, 1, 200],
    ]) {
      const memory = await memoryOf(withMemoryMaximum(small(limits), 130))
      memory.grow(129)
      expect(() => memory.grow(1)).toThrow()
      expect(memory.buffer.byteLength).toBe(130 * 65_536)
    }
  })

  it('is set on the script engine, which has none by itself', async () => {
    const { module } = await loadEngine(64 * 1024 * 1024)
    const capped = await memoryOf(module)
    expect(() => capped.grow(1_280)).toThrow()
    const free = await memoryOf(engine)
    expect(free.grow(1_280)).toBeGreaterThan(0)
  })

  it('is rejected for a binary that is not such an engine', () => {
    expect(() => withMemoryMaximum(Uint8Array.from(header), 10)).toThrow(/no memory of its own/)
    expect(() => withMemoryMaximum(small([3, 1, 1]), 10)).toThrow(/another kind of memory/)
    expect(() => withMemoryMaximum(small([0, 20]), 10)).toThrow(/more than 10 pages/)
    expect(() => withMemoryMaximum(Uint8Array.from([...header, 5, 0xff]), 10)).toThrow(/cut off/)
  })
})
