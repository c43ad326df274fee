// From a chunk of the command to a script whose compiled code can be kept.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseSync, Visitor } from 'rolldown/utils'

/**
 * Makes a script of a chunk that the command's own loader loads (`src/cli/code/`).
 *
 * One letter beyond ASCII would make Node and V8 handle the whole text in twice its size. A script made of kept code
 * has lost where its `import()` leads, so it imports through a function that it is given. And it loads other chunks and
 * Node's own modules with their first use; for chunks that use each other, what one exports is there from its
 * beginning.
 * @param {string} path
 */
export function asScript(path) {
  const text = readFileSync(path, 'utf8').replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const { program } = parseSync('script.cjs', text)
  /** @type {{ start: number, end: number, text: string }[]} */
  const changes = []
  let exported = ''
  /** @type {Map<string, number>} */
  const onUse = new Map()
  for (const { type, start, end } of program.body) {
    const statement = text.slice(start, end)
    const [, name, call] = /^(?:const|let) (\w+) = (require\("[^"]+"\));$/.exec(statement) ?? []
    if (name !== undefined && call !== undefined && !text.includes(`\n${name} = `)) {
      onUse.set(name, start)
      const loading = `let ${name}$; const ${name} = () => ${name}$ ??= ${call};`
      changes.push({ start, end, text: loading })
    } else if (type === 'ExpressionStatement' && statement.startsWith('Object.defineProperty(exports, ')) {
      exported += `${statement.replace(/\s+/g, ' ').replace(getter, '$export($1, () => $2);')}\n`
      changes.push({ start, end, text: '' })
    }
  }
  const names = new Set()
  const constructors = new Set()
  new Visitor({
    ImportExpression: ({ start }) =>
      void changes.push({ start, end: start + 'import'.length, text: 'importModule' }),
    MemberExpression: ({ computed, property }) => void (computed || names.add(property.start)),
    Property: ({ computed, key }) => void (computed || names.add(key.start)),
    NewExpression: ({ callee }) => void constructors.add(callee.start),
    Identifier({ name, start, end }) {
      const declared = onUse.get(name)
      if (declared === undefined || names.has(start)) return
      if (start < declared + `const ${name}`.length) return
      // What `new` applies to would end with the first brackets.
      changes.push({ start, end, text: constructors.has(start) ? `(${name}())` : `${name}()` })
    },
  }).visit(program)
  changes.sort((a, b) => b.start - a.start)
  const script = changes.reduce(
    (all, { start, end, text }) => all.slice(0, start) + text + all.slice(end),
    text,
  )
  writeFileSync(path, `'use strict';\n${exported === '' ? '' : defineExport}${exported}${script}`)
}

const getter =
  /^Object\.defineProperty\(exports, ("\w+"), \{ enumerable: true, get: function\(\) \{ return ([\w$]+); \} \}\);$/
const defineExport =
  'const $export = (name, get) => Object.defineProperty(exports, name, { enumerable: true, get });\n'
