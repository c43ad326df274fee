// Puts the compiled modules together: one file an entry and few shared chunks, since every file that Node loads costs about a
// millisecond. What is imported on use stays in files of its own. Declarations stay as they are.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { minify } from 'rolldown/utils'

/**
 * Libraries that go into our files instead of being installed beside them: small, or needed by few and large in packages. Each is
 * loaded with the first use of its part.
 */
export const bundled = [
  '@cfworker/json-schema',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
  'croner',
  'diff',
  'eventsource-parser',
  'marked',
  'p-queue',
  'partial-json',
  'picocolors',
  'sucrase',
  'unbash',
  'ws',
]

/**
 * From the ground up: a group, and the modules that it is loaded for.
 * @type {readonly (readonly [string, ...string[]])[]}
 */
const together = [
  ['help', 'cli/run-cli', 'cli/help'],
  ['tool', 'tool/index'],
  ['capstan', 'index'],
  ['authority', 'authority/index'],
  ['session', 'session/session', 'session/check-options', 'session/journal/restore', 'program/index'],
  ['command-line', 'cli/args', 'cli/failure', 'cli/commands/run'],
  ['headless', 'cli/headless/run-headless'],
]

/** @param {string} modules where the compiler put the scripts @param {string} target */
export async function bundle(modules, target) {
  const { exports, bin, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.default],
  )
  const scripts = [...entries, ...Object.values(bin)]
  const names = scripts.map((script) => script.replace(/^\.\/dist\//, '').replace(/\.js$/, ''))
  /** @param {string} id @param {readonly string[]} names */
  const isOneOf = (id, names) => names.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, resolve(modules, `${name}.js`)])),
    platform: 'node',
    // Its modules, of which only what is used is taken.
    resolve: {
      alias: {
        sucrase: 'sucrase/dist/esm/index.js',
        '@modelcontextprotocol/client/_shims': resolve('scripts/mcp-shims.mjs'),
        '@modelcontextprotocol/server/_shims': resolve('scripts/mcp-shims.mjs'),
      },
    },
    // A peer is the host's to bring; what a library inside needs of it goes inside as well.
    external: (id, importer) =>
      id.startsWith('node:') ||
      isOneOf(id, Object.keys(dependencies)) ||
      (isOneOf(id, Object.keys(peerDependencies)) && !importer?.includes('/node_modules/')),
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.write({
    dir: target,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: false,
    codeSplitting: { groups: groupsOf(modules) },
  })
  await build.close()
  for (const file of output)
    if (file.type === 'chunk' && isMostlyForeign(file)) await shorten(join(target, file.fileName))
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf(output))
  keepDeclarations(target, entries)
}

/**
 * Declarations that no entry leads to are nobody's.
 * @param {string} target @param {readonly string[]} entries
 */
function keepDeclarations(target, entries) {
  const kept = new Set()
  for (const entry of entries)
    declaredBy(
      resolve(target, '..', entry.replace(/^\.\/dist/, basename(target)).replace(/\.js$/, '.d.ts')),
      kept,
    )
  for (const file of readdirSync(target, { recursive: true, encoding: 'utf8' })) {
    const path = resolve(target, file)
    if (file.endsWith('.d.ts') && !kept.has(path)) rmSync(path)
  }
}

/** @param {string} path @param {Set<string>} seen */
function declaredBy(path, seen) {
  if (seen.has(path)) return
  seen.add(path)
  for (const [, from] of readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?['"](\.[^'"]+)['"]/g))
    declaredBy(resolve(path, '..', from?.replace(/\.js$/, '.d.ts') ?? ''), seen)
}

/**
 * What is loaded together lies together: without this, every set of places that share a module makes a file of its own. Each group is
 * what its roots load at once, without what the groups before it hold; so files never lead in a ring.
 * @param {string} modules
 */
function groupsOf(modules) {
  const taken = new Set()
  return together.map(([name, ...roots]) => {
    const own = new Set(
      roots.flatMap((root) => [...loadedBy(resolve(modules, `${root}.js`))]).filter((id) => !taken.has(id)),
    )
    for (const id of own) taken.add(id)
    return { name, test: (/** @type {string} */ id) => own.has(id) }
  })
}

/** @param {string} start @param {Set<string>} seen */
function loadedBy(start, seen = new Set()) {
  if (seen.has(start)) return seen
  seen.add(start)
  const text = readFileSync(start, 'utf8')
  for (const [, from, plain] of text.matchAll(
    /^(?:import|export)\s[^;]*?from\s*'(\.[^']+)'|^import\s*'(\.[^']+)'/gm,
  ))
    loadedBy(resolve(start, '..', from ?? plain ?? ''), seen)
  return seen
}

/** Libraries are many times our size, and nobody steps through them; our own code stays as it was written. */
async function shorten(/** @type {string} */ path) {
  const { code, errors } = await minify(path, readFileSync(path, 'utf8'), { module: true, sourcemap: false })
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join('; ')}`)
  writeFileSync(path, code)
}

/** @param {import('rolldown').OutputChunk} chunk */
function isMostlyForeign({ modules }) {
  const lengths = Object.entries(modules).map(([id, { renderedLength }]) => ({ id, renderedLength }))
  const sum = (/** @type {typeof lengths} */ some) => some.reduce((all, one) => all + one.renderedLength, 0)
  return sum(lengths.filter(({ id }) => id.includes('node_modules'))) > sum(lengths) / 2
}

/**
 * What libraries that went into the files ask to be handed on with them.
 * @param {import('rolldown').RolldownOutput['output']} output
 */
function licensesOf(output) {
  const inside = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  const packages = inside.flatMap((id) => id.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0] ?? [])
  return [...new Set(packages)].sort().map(licenseOf).join('\n\n')
}

/** @param {string} directory */
function licenseOf(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? '' : readFileSync(join(directory, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text.trim()}\n`
}
