import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { Script } from 'node:vm'
import type { CompileCache } from './compile-cache.js'

/** Scripts that load each other with `require`, and what V8 has made of them. */
export type LoadedScripts = {
  load(path: string): unknown
  /** Whether something was loaded that was not kept, or that this V8 does not take. */
  isNew(): boolean
  /** What there is to keep: with the functions that have run, which then need no compiling either. */
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

/** V8 takes what was kept of another text of the same length for this one's: only a name that tells the content will do. */
const tellsContent = /-[\w-]{8}\.js$/
const parameters = 'exports, require, module, __filename, __dirname, importModule'

/** `importModule` stands for `import()`. */
export function loadScripts(
  kept: CompileCache,
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
    const isKeepable = tellsContent.test(name)
    const cachedData = isKeepable ? kept.get(name) : undefined
    // Nothing in it is beyond ASCII; to know that spares Node a look at every letter.
    const text = readFileSync(path, 'latin1')
    const script = new Script(`(function (${parameters}) {${text}\n})`, {
      filename: path,
      ...(cachedData !== undefined && { cachedData }),
    })
    if (isKeepable) {
      if (cachedData === undefined || script.cachedDataRejected === true) isNew = true
      scripts.set(name, script)
    }
    const outside = createRequire(path)
    const requireFrom = (specifier: string): unknown =>
      specifier.startsWith('.') ? load(resolve(dirname(path), specifier)) : outside(specifier)
    const importFrom = async (specifier: string): Promise<unknown> =>
      // Node's own modules are there without the loader of ES modules, which takes a while to start.
      specifier.startsWith('node:') ? outside(specifier) : importModule(specifier)
    const run = script.runInThisContext() as Wrapper
    run(module.exports, requireFrom, module, path, dirname(path), importFrom)
    return module.exports
  }

  return {
    load,
    isNew: () => isNew,
    code: () =>
      new Map([...kept, ...[...scripts].map(([name, script]) => [name, script.createCachedData()] as const)]),
  }
}
