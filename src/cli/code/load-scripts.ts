import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { Script } from 'node:vm'
import type { CompileCache } from './compile-cache.js'

/** Scripts that load each other with `require`, and the code that V8 compiled from them. */
export type LoadedScripts = {
  load(path: string): unknown
  /** Whether a script was loaded that is not in the cache, or whose cached code was rejected by V8. */
  isNew(): boolean
  /** The compiled code, including the functions that have run. */
  code(): CompileCache
}

type ScriptModule = { exports: unknown }
type Wrapper = (
  exports: unknown,
  require: (specifier: string) => unknown,
  module: ScriptModule,
  filename: string,
  directory: string,
  importModule: (specifier: string) => Promise<unknown>,
) => void

/**
 * A file name with a content hash. V8 checks only the length of the source, so cached code is used only for such names.
 */
const hashedName = /-[\w-]{8}\.js$/
const parameters = 'exports, require, module, __filename, __dirname, importModule'

/** Loads scripts with cached code. `importModule` is called for `import()`. */
export function loadScripts(
  cache: CompileCache,
  importModule: (specifier: string) => Promise<unknown>,
): LoadedScripts {
  const modules = new Map<string, ScriptModule>()
  const scripts = new Map<string, Script>()
  let isNew = false

  const load = (path: string): unknown => {
    const loaded = modules.get(path)
    if (loaded !== undefined) return loaded.exports
    const module: ScriptModule = { exports: {} }
    modules.set(path, module)
    const name = basename(path)
    const isCacheable = hashedName.test(name)
    const cachedData = isCacheable ? cache.get(name) : undefined
    // The bundled files are ASCII, so Node need not decode UTF-8.
    const text = readFileSync(path, 'latin1')
    const script = new Script(`(function (${parameters}) {${text}\n})`, { filename: path, cachedData })
    if (isCacheable) {
      if (cachedData === undefined || script.cachedDataRejected === true) isNew = true
      scripts.set(name, script)
    }
    const outside = createRequire(path)
    const requireFrom = (specifier: string): unknown =>
      specifier.startsWith('.') ? load(resolve(dirname(path), specifier)) : outside(specifier)
    const importFrom = async (specifier: string): Promise<unknown> =>
      // Node's own modules do not need the ES module loader, which is slow to start.
      specifier.startsWith('node:') ? outside(specifier) : importModule(specifier)
    const run = script.runInThisContext() as Wrapper
    run(module.exports, requireFrom, module, path, dirname(path), importFrom)
    return module.exports
  }

  return {
    load,
    isNew: () => isNew,
    code: () =>
      new Map([
        ...cache,
        ...[...scripts].map(([name, script]) => [name, script.createCachedData()] as const),
      ]),
  }
}
