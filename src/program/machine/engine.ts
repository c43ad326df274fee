import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { withMemoryMaximum } from './capped-memory.js'

/** The compiled script engine, and the URL of its JavaScript code for a thread. */
export type Engine = { readonly module: WebAssembly.Module; readonly url: string }

/** The engine's memory in addition to a script's: its own data, its stack, and incoming strings. */
const ownBytes = 16 * 1024 * 1024
const pageBytes = 64 * 1024

/** Reads and compiles the engine, off the main thread; its memory is the script's limit plus its own needs. */
export async function loadEngine(memoryBytes: number): Promise<Engine> {
  const { resolve } = createRequire(import.meta.url)
  const binary = new Uint8Array(await readFile(resolve('quickjs-wasi/quickjs.wasm')))
  const pages = Math.ceil((memoryBytes + ownBytes) / pageBytes)
  return {
    module: await WebAssembly.compile(withMemoryMaximum(binary, pages)),
    url: pathToFileURL(resolve('quickjs-wasi')).href,
  }
}
