import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { root } from './run.js'

/** One mention of another module: an import, a re-export, or a type written as `import('…').Name`. */
export type Reference = {
  readonly specifier: string
  readonly kind: 'import' | 'reexport' | 'dynamic'
  /** Gone after compilation. `import { type A }` is not: with `verbatimModuleSyntax` the module is still loaded. */
  readonly typeOnly: boolean
  /** What is taken from it; `*` means everything. */
  readonly names: readonly string[]
}

/** A name that a file gives away. With `from` it is another file's; `export *` is the name `*` from the name `*`. */
export type Export = {
  readonly name: string
  readonly from?: { readonly specifier: string; readonly name: string }
  /** Gone once compiled. */
  readonly isType?: true
}

export type SourceFile = {
  /** From the root of the package, with `/`. */
  readonly path: string
  readonly references: readonly Reference[]
  readonly exports: readonly Export[]
  /** Whether it holds nothing but comments and `export … from`. */
  readonly onlyReexports: boolean
  /** How many `import(…)` name their module only when they run. */
  readonly computedImports: number
}

/** The files of `src/` that are compiled and published. */
export function sourcePaths(): string[] {
  return listFiles('src', /\.ts$/).filter((path) => !isTest(path))
}

/** Reads all of them. */
export function readSources(): SourceFile[] {
  return sourcePaths().map(readSource)
}

export function readSource(path: string): SourceFile {
  const known = read.get(path) ?? parseSource(path, readFileSync(join(root, path), 'utf8'))
  read.set(path, known)
  return known
}

/** Several test files read all sources in one process, and nothing changes them meanwhile. */
const read = new Map<string, SourceFile>()

export function isTest(path: string): boolean {
  return /\.test(-d)?\.[cm]?[jt]s$/.test(path)
}

/** Files below a folder of the package whose name fits, as paths from its root; none when there is no such folder. */
export function listFiles(folder: string, fits: RegExp): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.name === 'node_modules') return []
      const path = posix.join(folder, entry.name)
      if (entry.isDirectory()) return listFiles(path, fits)
      return fits.test(entry.name) ? [path] : []
    })
}

/**
 * The source file that a relative specifier means, or undefined for a package. Whether the file exists is for the
 * caller to ask: a wrong path is the compiler's to report.
 */
export function resolveRelative(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const path = posix.join(posix.dirname(from), specifier)
  // Sources name the compiled file; scripts and examples name themselves.
  return path.startsWith('src/') ? path.replace(/\.js$/, '.ts') : path
}

/** Reads what a file imports and exports. Works on the syntax tree, so comments and strings cannot fool it. */
export function parseSource(path: string, text: string): SourceFile {
  const program = parse(path, text)
  const statements = nodesIn(program['body'])
  const found: Reference[] = []
  let computedImports = 0
  const picked = new Map<unknown, string[]>()
  const visit = (node: Node): void => {
    if (node.type === 'VariableDeclarator') picked.set(awaited(node['init']), keysOf(node['id']))
    const reference = referenceOf(node, picked.get(node))
    if (reference === 'computed') computedImports++
    else if (reference !== undefined) found.push(reference)
  }
  // Nine files of ten name modules in their statements only. Walking the whole tree takes half as long as parsing it.
  if (/\bimport\s*(?:[(.]|\/[/*])|\brequire\b|\\u/.test(text)) walk(program, visit)
  else for (const statement of statements) visit(statement)
  return {
    path,
    references: found,
    exports: statements.flatMap(exportsOf),
    onlyReexports: statements.every((node) => node.type.startsWith('Export') && isNode(node['source'])),
    computedImports,
  }
}

type Node = { readonly type: string; readonly [key: string]: unknown }

function parse(path: string, text: string): Node {
  const lang = path.endsWith('.d.ts') ? 'dts' : path.endsWith('.ts') ? 'ts' : 'js'
  const program: unknown = parseAst(
    text,
    { lang, ...(path.endsWith('.cjs') && { sourceType: 'commonjs' }) },
    path,
  )
  if (!isNode(program)) throw new TypeError(`${path} was not parsed to a syntax tree`)
  return program
}

function referenceOf(node: Node, picked: readonly string[] = ['*']): Reference | 'computed' | undefined {
  const typeOnly = node['importKind'] === 'type' || node['exportKind'] === 'type'
  switch (node.type) {
    case 'ImportDeclaration':
      return reference(node['source'], 'import', typeOnly, nodesIn(node['specifiers']).map(importedName))
    case 'ExportAllDeclaration':
      return reference(node['source'], 'reexport', typeOnly, ['*'])
    case 'ExportNamedDeclaration': {
      const names = nodesIn(node['specifiers']).map((specifier) => nameOf(specifier['local']))
      return isNode(node['source']) ? reference(node['source'], 'reexport', typeOnly, names) : undefined
    }
    case 'ImportExpression':
      return reference(node['source'], 'dynamic', false, picked)
    case 'TSImportType':
      return reference(node['source'], 'import', true, [leftmost(node['qualifier'])])
    case 'TSImportEqualsDeclaration':
      return requiredBy(node['moduleReference'])
    case 'CallExpression':
      return isNode(node['callee']) && nameOf(node['callee']) === 'require' ? requiredBy(node) : undefined
    default:
      return undefined
  }
}

function reference(
  source: unknown,
  kind: Reference['kind'],
  typeOnly: boolean,
  names: readonly string[],
): Reference | 'computed' {
  const specifier = textOf(source)
  return specifier === undefined ? 'computed' : { specifier, kind, typeOnly, names }
}

/**
 * `require('…')` in a dependency, or `import x = require('…')`. A call without a plain text is some other function's.
 */
function requiredBy(node: unknown): Reference | undefined {
  if (!isNode(node)) return undefined
  const specifier = textOf(nodesIn(node['arguments'])[0] ?? node['expression'])
  return specifier === undefined ? undefined : { specifier, kind: 'import', typeOnly: false, names: ['*'] }
}

function exportsOf(node: Node): Export[] {
  const specifier = textOf(node['source'])
  if (node.type === 'ExportDefaultDeclaration') return [{ name: 'default' }]
  if (node.type === 'ExportAllDeclaration' && specifier !== undefined) {
    return [
      { name: isNode(node['exported']) ? nameOf(node['exported']) : '*', from: { specifier, name: '*' } },
    ]
  }
  if (node.type !== 'ExportNamedDeclaration') return []
  const listed = nodesIn(node['specifiers']).map((each) => ({
    name: nameOf(each['exported']),
    ...(specifier === undefined ? {} : { from: { specifier, name: nameOf(each['local']) } }),
    ...typeMark(node['exportKind'] === 'type' || each['exportKind'] === 'type'),
  }))
  const { declaration } = node
  const typeMade = isNode(declaration) && /^TS(Interface|TypeAlias)Declaration$/.test(declaration.type)
  return [...listed, ...declaredNames(declaration).map((name) => ({ name, ...typeMark(typeMade) }))]
}

function typeMark(isType: boolean): { isType?: true } {
  return isType ? { isType } : {}
}

function declaredNames(declaration: unknown): string[] {
  if (!isNode(declaration)) return []
  if (declaration.type !== 'VariableDeclaration') return [nameOf(declaration['id'])]
  return nodesIn(declaration['declarations']).flatMap((each) => boundNames(each['id']))
}

/** The names that a pattern binds: `a` and `c` of `{ a, b: [c] }`. */
function boundNames(pattern: unknown): string[] {
  if (!isNode(pattern)) return []
  if (pattern.type === 'Identifier') return [nameOf(pattern)]
  const inner = [pattern['value'], pattern['argument'], pattern['left']]
  return [...nodesIn(pattern['properties']), ...nodesIn(pattern['elements']), ...inner].flatMap(boundNames)
}

/** `x` of `await x`. */
function awaited(node: unknown): unknown {
  return isNode(node) && node.type === 'AwaitExpression' ? node['argument'] : undefined
}

/** What `{ a, b: c } = await import('…')` takes: `a` and `b`; any other pattern may take everything. */
function keysOf(pattern: unknown): string[] {
  if (!isNode(pattern) || pattern.type !== 'ObjectPattern') return ['*']
  return nodesIn(pattern['properties']).map((each) => (isNode(each['key']) ? nameOf(each['key']) : '*'))
}

function importedName(specifier: Node): string {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default'
  return specifier.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(specifier['imported'])
}

/** `A` of `import('…').A.B`; all of it when nothing is picked. */
function leftmost(qualifier: unknown): string {
  if (!isNode(qualifier)) return '*'
  return isNode(qualifier['left']) ? leftmost(qualifier['left']) : nameOf(qualifier)
}

/** An identifier's name, or the text of a name written as a string. */
function nameOf(node: unknown): string {
  if (!isNode(node)) return ''
  return typeof node['name'] === 'string' ? node['name'] : (textOf(node) ?? '')
}

/** The text of a string literal, or of a template without holes. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  if (node.type !== 'TemplateLiteral' || nodesIn(node['expressions']).length > 0) return undefined
  const value = nodesIn(node['quasis'])[0]?.['value']
  return typeof value === 'object' && value !== null && 'cooked' in value ? String(value.cooked) : undefined
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit)
  } else if (isNode(value)) {
    visit(value)
    for (const child of Object.values(value)) walk(child, visit)
  }
}

function nodesIn(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
