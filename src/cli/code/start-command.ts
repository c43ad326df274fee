import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as CommandProcess from '../command-process.js'
import { exitCodes } from '../exit-codes.js'
import { userDirOf } from '../setup/user-dir.js'
import { packageVersion } from '../version.js'
import {
  type CacheLocation,
  type CompileCache,
  readCompileCache,
  writeCompileCache,
} from './compile-cache.js'
import { loadScripts } from './load-scripts.js'

/**
 * Runs the command with a cache of its compiled code, and updates the cache at the end. Node 20 has no
 * `module.enableCompileCache` (Node 22.1 has), and compiling takes most of the start.
 */
export function startCommand(argv: readonly string[]): void {
  const directory = fileURLToPath(new URL('.', import.meta.url))
  const location = cacheLocation(argv)
  const cache: CompileCache = location === undefined ? new Map() : readCompileCache(location.file)
  const scripts = loadScripts(cache, (specifier) => import(specifier))
  const command = scripts.load(join(directory, 'command-process.js')) as typeof CommandProcess
  void command.runProcess(argv).then((code) => {
    // A failed command has run only a part of its code.
    if (location === undefined || code !== exitCodes.done || !scripts.isNew()) return
    const isCurrent = ([name]: readonly [string, Buffer]): boolean => existsSync(join(directory, name))
    writeCompileCache(location, new Map([...scripts.code()].filter(isCurrent)))
  })
}

/**
 * Returns the cache file of a command. Each command has its own, because each runs different functions of the same
 * files. It is in the user's directory, which other users cannot write to, because cached code is executed. Undefined
 * if Node's own variable turns caching off, and for help, which would not start faster.
 */
function cacheLocation(argv: readonly string[]): CacheLocation | undefined {
  const { env } = process
  if (env['NODE_DISABLE_COMPILE_CACHE'] || env['NODE_V8_COVERAGE']) return undefined
  const [first = 'chat'] = argv
  const name = first.startsWith('-') ? 'chat' : first
  if (name === 'help' || !/^[a-z]{1,20}$/.test(name)) return undefined
  if (argv.includes('--help') || argv.includes('-h')) return undefined
  try {
    const userDir = userDirOf({
      env,
      get cwd() {
        return process.cwd()
      },
    })
    const versions = `${packageVersion()}-node-${process.version}-${process.arch}`
    return { userDir, file: join(userDir, 'cache', versions, `${name}.code`) }
  } catch {
    // There is no home directory, or the current directory was removed.
    return undefined
  }
}
