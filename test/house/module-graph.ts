import { existsSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { parseSource } from './source-tree.js'

export type ModuleGraph = {
  /** Every file that is reached, the first one included. */
  readonly files: readonly string[]
  /** Names of the packages that are reached. */
  readonly packages: readonly string[]
  /** Each use of a module of Node itself, and each import that names its module only when it runs. */
  readonly problems: readonly string[]
}

export type WalkOptions = {
  /** Whether `import(…)` is followed: without, the graph is what one import of the first file loads. */
  readonly dynamic: boolean
}

/**
 * Walks what a compiled file imports, through its own package and through its dependencies, as an ES module loader
 * would.
 */
export function walkModules(first: string, { dynamic }: WalkOptions): ModuleGraph {
  const files = new Set<string>()
  const packages = new Set<string>()
  const problems: string[] = []
  const visit = (file: string): void => {
    if (files.has(file)) return
    files.add(file)
    const { references, computedImports } = parseSource(file, readFileSync(file, 'utf8'))
    if (dynamic && computedImports > 0)
      problems.push(`${file} imports a module whose name cannot be read here`)
    for (const { specifier, kind } of references) {
      if (kind === 'dynamic' && !dynamic) continue
      if (isBuiltin(specifier)) problems.push(`${file} imports ${specifier}`)
      else if (specifier.startsWith('.')) visit(join(dirname(file), specifier))
      else {
        packages.add(packageName(specifier))
        visit(resolvePackage(file, specifier))
      }
    }
  }
  visit(first)
  return { files: [...files], packages: [...packages], problems }
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier)
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function resolvePackage(from: string, specifier: string): string {
  const name = packageName(specifier)
  const folder = findPackage(dirname(from), name)
  const manifest: { exports?: unknown; main?: string } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  )
  const subpath = `.${specifier.slice(name.length)}`
  if (manifest.exports === undefined)
    return join(folder, subpath === '.' ? (manifest.main ?? 'index.js') : subpath)
  const target = resolveTarget(subpathsOf(manifest.exports)[subpath])
  if (target === undefined) throw new Error(`${from} imports ${specifier}, which ${name} does not export`)
  return join(folder, target)
}

function findPackage(folder: string, name: string): string {
  const candidate = join(folder, 'node_modules', name)
  if (existsSync(join(candidate, 'package.json'))) return candidate
  const parent = dirname(folder)
  if (parent === folder) throw new Error(`The package ${name} is not installed`)
  return findPackage(parent, name)
}

/** `exports` may be a map of subpaths, or what would stand under `.` in one. */
function subpathsOf(exports: unknown): Record<string, unknown> {
  const isMap = isRecord(exports) && Object.keys(exports).every((key) => key.startsWith('.'))
  return isMap ? exports : { '.': exports }
}

/** The first condition in order that a plain ES module loader knows: one that is neither Node nor a browser. */
function resolveTarget(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  if (!isRecord(target)) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    const found = condition === 'import' || condition === 'default' ? resolveTarget(inner) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
