import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as CommandProcess from '../command-process.js'
import { exitCodes } from '../exit-codes.js'
import { userDirOf } from '../setup/user-dir.js'
import { packageVersion } from '../version.js'
import { type CodePlace, type CompileCache, readCompileCache, writeCompileCache } from './compile-cache.js'
import { loadScripts } from './load-scripts.js'

/** Loads the command beside this file, with what was kept of its code, and runs it. Keeps what was not kept when all is done. */
export function startCommand(argv: readonly string[]): void {
  const directory = fileURLToPath(new URL('.', import.meta.url))
  const place = placeFor(argv)
  const kept: CompileCache = place === undefined ? new Map() : readCompileCache(place.file)
  const scripts = loadScripts(kept, (specifier) => import(specifier))
  const command = scripts.load(join(directory, 'command-process.js')) as typeof CommandProcess
  void command.runProcess(argv).then((code) => {
    // One that failed has not been everywhere, and what is kept is kept for long.
    if (place === undefined || code !== exitCodes.done || !scripts.isNew()) return
    const isHere = ([name]: readonly [string, Buffer]): boolean => existsSync(join(directory, name))
    writeCompileCache(place, new Map([...scripts.code()].filter(isHere)))
  })
}

/**
 * By command, since each runs other parts of the same files. Below the user's directory, which nobody else may write to: code that is
 * kept is code that runs. Undefined: nothing is kept, as Node's own variable for this says, or because nothing is to be gained.
 */
function placeFor(argv: readonly string[]): CodePlace | undefined {
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
    // A user without a home, or in a directory that is gone, keeps nothing.
    return undefined
  }
}
