// Converts chunks of the bundler to scripts that load each other on first use.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseSync, Visitor } from 'rolldown/utils'
import { nothing, placeForNothing } from './stable-shapes.mjs'

/** @typedef {{ path: string, text: string, program: ReturnType<typeof parseSync>['program'] }} Parsed */
/** @typedef {{ start: number, end: number, text: string }} Change */

/**
 * Makes scripts of CommonJS chunks. They load each other and Node's own modules on first use, and export their
 * names from their beginning, for chunks that use each other. One character beyond ASCII would make Node and V8 handle
 * the whole text in twice its size, so it is escaped.
 *
 * `importWith` replaces `import` in `import()`. The command's own loader (`src/cli/code/`) compiles scripts from cached
 * code, which does not know where its `import()` leads.
 *
 * Objects that begin with a copy of another get stable shapes (stable-shapes.mjs) on the way: parsing takes longest.
 *
 * A script for which `isHot` returns true looks up names that never change once, also those of `immutable` modules: it
 * becomes longer and faster.
 * @param {readonly string[]} paths
 * @param {{ importWith?: string, isHot?: (name: string) => boolean, immutable?: readonly string[] }} [options]
 */
export function asScripts(paths, { importWith = 'import', isHot = () => false, immutable = [] } = {}) {
  const chunks = paths.map(parsed)
  /** @type {Map<string, ReadonlySet<string>>} */
  const changing = new Map(chunks.map((chunk) => [`./${basename(chunk.path)}`, changingExports(chunk)]))
  for (const name of immutable) changing.set(name, new Set())
  for (const chunk of chunks) {
    const lookedUpOnce = isHot(basename(chunk.path)) ? changing : new Map()
    writeFileSync(chunk.path, scriptOf(chunk, importWith, lookedUpOnce))
  }
}

/** @param {string} path @returns {Parsed} */
function parsed(path) {
  const text = readFileSync(path, 'utf8').replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { path, text, program: parseSync('script.cjs', text).program }
}

/** The exported names of a chunk whose variables are assigned again. @param {Parsed} chunk */
function changingExports({ text, program }) {
  const assigned = new Set()
  new Visitor({
    AssignmentExpression: ({ left }) => void (left.type === 'Identifier' && assigned.add(left.name)),
    UpdateExpression: ({ argument }) => void (argument.type === 'Identifier' && assigned.add(argument.name)),
  }).visit(program)
  const exported = program.body.flatMap((statement) => {
    const [, name, variable] = getter.exec(oneLine(text.slice(statement.start, statement.end))) ?? []
    return name !== undefined && assigned.has(variable) ? [JSON.parse(name)] : []
  })
  return new Set(exported)
}

/**
 * @param {Parsed} chunk @param {string} importWith
 * @param {ReadonlyMap<string, ReadonlySet<string>>} changing by specifier of a chunk, the exports that change
 */
function scriptOf({ text, program }, importWith, changing) {
  /** @type {Change[]} */
  const changes = []
  /** @type {string[]} */
  const exported = []
  /** Variables of loaded modules, with the end of their declarations. @type {Map<string, { end: number, from: string }>} */
  const onUse = new Map()
  /** Positions in exports, which move to the beginning. @type {Set<number>} */
  const moved = new Set()
  /** Positions in exports that are evaluated once. @type {Set<number>} */
  const once = new Set()
  for (const { type, start, end } of program.body) {
    const statement = text.slice(start, end)
    const [, name, from] = /^(?:const|let) ([\w$]+) = require\("([^"]+)"\);$/.exec(statement) ?? []
    if (name !== undefined && from !== undefined && !text.includes(`\n${name} = `)) {
      onUse.set(name, { end, from })
      changes.push({
        start,
        end,
        text: `let ${name}$; const ${name} = () => ${name}$ ??= require("${from}");`,
      })
    } else if (type === 'ExpressionStatement' && statement.startsWith('Object.defineProperty(exports, ')) {
      exported.push(oneLine(statement))
      for (let at = start; at < end; at++) moved.add(at)
      changes.push({ start, end, text: '' })
    } else if (statement.startsWith('exports.')) for (let at = start; at < end; at++) once.add(at)
  }
  /** @type {Map<string, string>} */
  const variables = new Map()
  const variableFor = (/** @type {string} */ module, /** @type {string} */ name) => {
    const use = `${module}.${name}`
    const variable = variables.get(use) ?? unusedName(text, name, [...variables.values()])
    variables.set(use, variable)
    return variable
  }
  const names = new Set()
  const constructors = new Set()
  const done = new Set()
  new Visitor({
    ImportExpression: ({ start }) =>
      void changes.push({ start, end: start + 'import'.length, text: importWith }),
    MemberExpression({ computed, object, property, start, end }) {
      if (computed) return
      names.add(property.start)
      if (object.type !== 'Identifier' || property.type !== 'Identifier') return
      const loaded = onUse.get(object.name)
      if (loaded === undefined || start < loaded.end || moved.has(start) || once.has(start)) return
      if (changing.get(loaded.from)?.has(property.name) !== false) return
      // An export that never changes is looked up once and stored in a variable, like an import of an ES module.
      done.add(object.start)
      const variable = variableFor(object.name, property.name)
      changes.push({ start, end, text: `(${variable} ??= ${object.name}().${property.name})` })
    },
    Property: ({ computed, key }) => void (computed || names.add(key.start)),
    NewExpression: ({ callee }) => void constructors.add(callee.start),
    ObjectExpression(object) {
      const at = placeForNothing(object)
      if (at !== undefined) changes.push({ start: at, end: at, text: nothing })
    },
    Identifier({ name, start, end }) {
      const loaded = onUse.get(name)
      if (loaded === undefined || start < loaded.end || moved.has(start)) return
      if (names.has(start) || done.has(start)) return
      // Without parentheses, `new` would apply only up to the first brackets.
      changes.push({ start, end, text: constructors.has(start) ? `(${name}())` : `${name}()` })
    },
  }).visit(program)
  const exports = exported.map((statement) =>
    statement.replace(getter, (_, exportName, name, property = '') =>
      onUse.has(name)
        ? `$export(${exportName}, () => ${name}()${property});`
        : `$export(${exportName}, () => ${name}${property});`,
    ),
  )
  const head = exports.length === 0 ? '' : `${defineExport}${exports.join('\n')}\n`
  const declared = variables.size === 0 ? '' : `let ${[...variables.values()].join(', ')};\n`
  return `'use strict';\n${declared}${head}${changed(text, changes)}`
}

/** @param {string} text @param {readonly Change[]} changes */
function changed(text, changes) {
  const pieces = []
  let at = 0
  for (const change of changes.toSorted((a, b) => a.start - b.start)) {
    pieces.push(text.slice(at, change.start), change.text)
    at = change.end
  }
  return [...pieces, text.slice(at)].join('')
}

/** @param {string} text @param {string} name @param {readonly string[]} taken */
function unusedName(text, name, taken) {
  let variable = `$${name}`
  for (let n = 1; text.includes(variable) || taken.includes(variable); n++) variable = `$${name}$${n}`
  return variable
}

/** @param {string} statement */
function oneLine(statement) {
  return statement.replace(/\s+/g, ' ')
}

const getter =
  /^Object\.defineProperty\(exports, ("\w+"), \{ enumerable: true, get: function\(\) \{ return ([\w$]+)(\.[\w$]+)?; \} \}\);$/
const defineExport =
  'const $export = (name, get) => Object.defineProperty(exports, name, { enumerable: true, get });\n'
