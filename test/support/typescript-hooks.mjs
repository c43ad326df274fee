// Module hooks of Node that resolve `./name.js` to `./name.ts` and remove types. What a file is compiled to is kept in
// `.build/test-modules`, with a digest of its source.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'rolldown/utils'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const base = pathToFileURL(`${root}/`).href
const compiled = join(root, '.build/test-modules')
/** The sources get the packages of the AI SDK from there, if not from the dependencies of the repository. */
const aiSdkFrom = new URL(import.meta.url).searchParams.get('ai-sdk-from')
const { version } = JSON.parse(readFileSync(join(root, 'node_modules/rolldown/package.json'), 'utf8'))
/** What the result depends on, next to the source. */
const compiler = version + readFileSync(fileURLToPath(clean(import.meta.url)), 'utf8')

/** @typedef {{ url: string, format?: string | null, shortCircuit?: boolean }} Resolved */

/**
 * @param {string} given
 * @param {{ parentURL?: string }} context
 * @param {(specifier: string, context: object) => Resolved | Promise<Resolved>} next
 * @returns {Resolved | Promise<Resolved>}
 */
export function resolve(given, context, next) {
  const { parentURL } = context
  // vitest imports each test file with a different URL.
  const specifier = given.replace('%3Fvitest=', '?vitest=')
  if (aiSdkFrom !== null && specifier.startsWith('@ai-sdk/') && isSource(clean(parentURL ?? '')))
    return next(specifier, { ...context, parentURL: aiSdkFrom })
  if (parentURL === undefined || !/^(?:\.|file:)/.test(specifier) || parentURL.includes('/node_modules/'))
    return next(specifier, context)
  const { pathname, search } = new URL(specifier, parentURL)
  const source = sourceOf(`file://${pathname}`)
  return source === undefined
    ? next(specifier, context)
    : { url: copyOf(source, search, parentURL), format: 'module', shortCircuit: true }
}

/** @type {Map<string, string | undefined>} */
const sources = new Map()

/** The TypeScript file that a URL means, or undefined. @param {string} url */
function sourceOf(url) {
  if (!sources.has(url)) {
    const candidates = url.endsWith('.js') ? [`${url.slice(0, -3)}.ts`, `${url.slice(0, -3)}.tsx`] : [url]
    sources.set(
      url,
      candidates.find((candidate) => isSource(candidate) && existsSync(fileURLToPath(candidate))),
    )
  }
  return sources.get(url)
}

/** Whether it is TypeScript of the repository, and not of a project that a test makes. @param {string} url */
function isSource(url) {
  return url.startsWith(base) && /\.tsx?$/.test(url) && !url.includes('/node_modules/')
}

/**
 * The second copy of a module (`importCopy` in second-copy.ts) imports second copies, and instead of some files others.
 * @param {string} source
 * @param {string} search
 * @param {string} parentURL
 */
function copyOf(source, search, parentURL) {
  if (search !== '') return source + search
  const at = parentURL.indexOf('?copy=')
  if (at < 0) return source
  const query = parentURL.slice(at)
  const replacement = new URLSearchParams(query).get(source)
  return (replacement === null || parentURL.startsWith(replacement) ? source : replacement) + query
}

/**
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => object | Promise<object>} next
 * @returns {object | Promise<object>}
 */
export function load(url, context, next) {
  const file = clean(url)
  if (!isSource(file)) return next(url, context)
  return { format: 'module', source: compile(fileURLToPath(file)), shortCircuit: true }
}

/** Without the query. @param {string} url */
function clean(url) {
  return url.replace(/\?.*$/, '')
}

/** @param {string} file */
function compile(file) {
  const source = readFileSync(file)
  const mark = `// ${createHash('sha256').update(compiler).update(source).digest('hex')}`
  const target = join(compiled, `${relative(root, file)}.js`)
  const earlier = existsSync(target) ? readFileSync(target, 'utf8') : ''
  if (earlier.endsWith(mark)) return earlier
  const { code, map, errors } = transformSync(file, source.toString(), {
    target: 'es2023',
    sourcemap: true,
    typescript: { onlyRemoveTypeImports: true },
  })
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join(', ')}`)
  const positions = { ...map, sources: [pathToFileURL(file).href], sourcesContent: undefined }
  const encoded = Buffer.from(JSON.stringify(positions)).toString('base64')
  const result = `${withImportsOnce(code, file)}\n//# sourceMappingURL=data:application/json;base64,${encoded}\n${mark}`
  // Several workers may compile the same file.
  const aside = `${target}-${process.pid}`
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(aside, result)
  renameSync(aside, target)
  return result
}

/**
 * Node 20 asks the hooks, which are in another thread there, for each call of `import()`, also when the module is
 * loaded. A session has seven such calls, and the tests open thousands of sessions. The modules of `src/` ask once for
 * each of their own files; `import()` of a package is left as it is, because a test can install or remove one.
 * @param {string} code that rolldown has printed
 * @param {string} file
 */
function withImportsOnce(code, file) {
  if (!relative(root, file).startsWith('src/') || file.endsWith('.test.ts')) return code
  const changed = code.replaceAll(/\bimport\((?="\.{1,2}\/[^"]+"\))/g, 'importOnce$(')
  // At the end, so that no line moves.
  return changed === code
    ? code
    : `${changed}\nfunction importOnce$(name) { return (importOnce$[name] ??= import(name)); }`
}
