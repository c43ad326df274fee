#!/usr/bin/env node
// Prints figures about the source that show whether it stays readable: sizes, imports, bags of options, words to avoid.
//   node scripts/code-figures.mjs [DIR]     DIR is the root of a checkout; this one when left out
// With a second checkout (git worktree add) the same script measures an earlier commit.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const source = filesBelow(join(root, 'src'), /\.ts$/).filter((file) => !/\.test(-d)?\.ts$/.test(file))
const tests = [
  ...filesBelow(join(root, 'src'), /\.test(-d)?\.ts$/),
  ...filesBelow(join(root, 'test'), /\.ts$/),
]
const pages = [...filesBelow(join(root, 'docs'), /\.md$/), join(root, 'README.md')]

const texts = new Map(source.map((file) => [file, readFileSync(file, 'utf8')]))
const sizes = [...texts].map(([file, text]) => ({ file, lines: text.split('\n').length }))
const sorted = sizes.map(({ lines }) => lines).sort((a, b) => a - b)
const total = sum(sorted)

/** @type {[string, string | number][]} */
const rows = [
  ['source files', source.length],
  ['source lines', total],
  ['median lines of a file', sorted[Math.floor(sorted.length / 2)] ?? 0],
  ['p90', sorted[Math.floor(sorted.length * 0.9)] ?? 0],
  ['largest', sorted.at(-1) ?? 0],
  ['files over 400 lines', sorted.filter((lines) => lines > 400).length],
  ['lines of tests for each line of source', (sum(tests.map(lineCount)) / total).toFixed(2)],
  ['files of at most 30 lines with one importer', smallWithOneImporter()],
  ['conditional spreads', count(/\.\.\.\([^)]*(?:!== undefined|!= null)[^)]*&&/g)],
  ['`*Parts` types', count(/^(?:export )?(?:type|interface) \w*Parts\b/gm)],
  [
    '`most*`, `longest*`, `largest*`, `least*` names',
    count(/\bconst (?:most|longest|largest|least)[A-Z]\w*/g),
  ],
  ['`@example` in doc comments', count(/^\s*\*?\s*@example/gm) + count(/\/\*\*.*@example/g)],
]
for (const [label, value] of rows) console.log(`${String(value).padStart(8)}  ${label}`)

console.log('\nlargest files')
for (const { file, lines } of sizes.toSorted((a, b) => b.lines - a.lines).slice(0, 8))
  console.log(`${String(lines).padStart(8)}  ${relative(root, file)}`)

console.log('\nimports of the files with the most')
const importers = [...texts].map(([file, text]) => ({ file, imports: importsOf(text).length }))
for (const { file, imports } of importers.toSorted((a, b) => b.imports - a.imports).slice(0, 6))
  console.log(`${String(imports).padStart(8)}  ${relative(root, file)}`)

console.log('\npublic members of the classes with the most')
const classes = [...texts].flatMap(([file, text]) => classesIn(file, text))
for (const { name, members } of classes.toSorted((a, b) => b.members - a.members).slice(0, 4))
  console.log(`${String(members).padStart(8)}  ${name}`)
const counts = classes.map(({ members }) => members).sort((a, b) => a - b)
const half = counts[Math.floor(counts.length / 2)]
console.log(`${String(half).padStart(8)}  median, p90 ${counts[Math.floor(counts.length * 0.9)]}`)

console.log('\nwords to avoid, in src / tests / docs')
const avoided = 'whoever|nobody|somebody|told|stands|behind|anew|go on|goes on|beside|kept|the one who'
for (const word of avoided.split('|')) {
  const counts = [source, tests, pages].map((files) => String(occurrences(files, word)).padStart(6))
  console.log(`${counts.join('')}  ${word}`)
}

/** @param {string} dir @param {RegExp} name @returns {string[]} */
function filesBelow(dir, name) {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return []
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return filesBelow(path, name)
    return name.test(entry.name) ? [path] : []
  })
}

/** @param {string} file */
function lineCount(file) {
  return readFileSync(file, 'utf8').split('\n').length
}

/** @param {string} text */
function importsOf(text) {
  return [...text.matchAll(/^(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'/gm)].map(
    ([, from, bare]) => from ?? bare ?? '',
  )
}

/** How many source files of at most 30 lines are imported by exactly one other file. */
function smallWithOneImporter() {
  /** @type {Map<string, number>} */
  const importedBy = new Map()
  for (const [file, text] of texts) {
    const targets = new Set(
      [...importsOf(text), ...dynamicImports(text)]
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolve(file, '..', specifier.replace(/\.js$/, '.ts'))),
    )
    for (const target of targets) importedBy.set(target, (importedBy.get(target) ?? 0) + 1)
  }
  return sizes.filter(({ file, lines }) => lines <= 31 && importedBy.get(file) === 1).length
}

/** @param {string} text */
function dynamicImports(text) {
  return [...text.matchAll(/import\('([^']+)'\)/g)].map(([, specifier]) => specifier ?? '')
}

/**
 * The classes of a file, each with the number of its members that are not private. Constructors do not count.
 * @param {string} file @param {string} text
 */
function classesIn(file, text) {
  /** @type {{ name: string, members: number }[]} */
  const found = []
  new Visitor({
    ClassDeclaration({ id, body }) {
      const names = body.body.flatMap((member) => {
        if (!('key' in member) || member.key.type === 'PrivateIdentifier') return []
        const isHidden = member.accessibility === 'private' || member.accessibility === 'protected'
        const isConstructor = member.type === 'MethodDefinition' && member.kind === 'constructor'
        return isHidden || isConstructor ? [] : [text.slice(member.key.start, member.key.end)]
      })
      found.push({ name: id?.name ?? '', members: new Set(names).size })
    },
  }).visit(parseSync(file, text).program)
  return found
}

/** Matches in the source, without tests. @param {RegExp} pattern */
function count(pattern) {
  return sum([...texts.values()].map((text) => text.match(pattern)?.length ?? 0))
}

/** @param {string[]} files @param {string} word */
function occurrences(files, word) {
  const pattern = new RegExp(`\\b${word}\\b`, 'gi')
  return sum(files.map((file) => readFileSync(file, 'utf8').match(pattern)?.length ?? 0))
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((all, number) => all + number, 0)
}
