// Puts the compiled modules together: one file an entry and few shared chunks, since every file that Node loads costs about a
// millisecond. What is imported on use stays in files of its own. Declarations stay as they are.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** @param {string} modules where the compiler put the scripts @param {string} target */
export async function bundle(modules, target) {
  const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const scripts = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.default],
  )
  const names = scripts.map((script) => script.replace(/^\.\/dist\//, '').replace(/\.js$/, ''))
  const foreign = [...Object.keys(dependencies), ...Object.keys(peerDependencies)]
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, resolve(modules, `${name}.js`)])),
    platform: 'node',
    external: (id) =>
      id.startsWith('node:') || foreign.some((name) => id === name || id.startsWith(`${name}/`)),
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message)
    },
  })
  await build.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: false,
  })
  await build.close()
}
