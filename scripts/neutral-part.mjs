// The part of the library that runs outside Node too is an ES module, which the scripts of the library use as well.
import { exportedNames } from './exported-names.mjs'

const entryName = 'neutral'
/** The name under which scripts import the part. */
const partName = `capstan:${entryName}`

/**
 * Takes modules that are bundled once, as an ES module, and that scripts of another bundle use. A script cannot load an
 * ES module synchronously in every version of Node. So the ES module of an entry loads the part first, and assigns it
 * to a property of `scripts.cjs`, through which it then loads the script of the entry.
 * @param {readonly string[]} modules
 */
export function neutralPart(modules) {
  const names = new Map(modules.map((module) => [module, exportedNames(module)]))
  /** @type {Map<string, import('./exported-names.mjs').Definition>} */
  const all = new Map()
  for (const exported of names.values())
    for (const [name, definition] of exported) {
      const other = all.get(name) ?? definition
      if (other.module !== definition.module || other.name !== definition.name)
        throw new Error(`${other.module} and ${definition.module} both export ${name}: rename one of them.`)
      all.set(name, definition)
    }
  const exportAll = [...all].map(
    ([exported, { module, name }]) => `export { ${name} as ${exported} } from ${JSON.stringify(module)}`,
  )
  return {
    entryName,
    partName,
    /** Adds an entry that exports every name of the modules. @type {import('rolldown').Plugin} */
    entry: {
      name: 'neutral-entry',
      resolveId: (id) => (id === entryName ? `\0${id}` : undefined),
      load: (id) => (id === `\0${entryName}` ? exportAll.join('\n') : undefined),
    },
    /** Takes the modules from the ES module. @type {import('rolldown').Plugin} */
    imports: {
      name: 'neutral-imports',
      resolveId: (id) => (id === partName ? { id, external: true } : undefined),
      load(id) {
        const exported = names.get(id)
        return exported && `export { ${[...exported.keys()].join(', ')} } from '${partName}'`
      },
    },
    /** Loads the part in the text of a script. @param {string} script */
    linked: (script) => script.replaceAll(`require("${partName}")`, 'require("./scripts.cjs").neutral'),
    files,
    entryModule,
  }
}

/**
 * The files through which entries load their scripts. `scripts.cjs` is short because Node searches every script that an
 * ES module imports for the names that it exports.
 * @param {readonly { entry: string, fileName: string }[]} entries
 */
function files(entries) {
  const loading = entries.map(({ entry, fileName }) => `  '${entry}': () => require('./${fileName}'),\n`)
  return {
    'scripts.cjs': `module.exports = {\n  neutral: undefined,\n${loading.join('')}}\n`,
    'scripts.js': `import * as neutral from './${entryName}.js'
import scripts from './scripts.cjs'

scripts.neutral = neutral
export default scripts
`,
  }
}

/** The ES module of an entry that is a script. @param {string} entry @param {ReadonlyMap<string, unknown>} names */
function entryModule(entry, names) {
  const up = entry.includes('/') ? '..' : '.'
  const exported = [...names.keys()].map((name) => `  ${name},\n`).join('')
  return `import scripts from '${up}/chunks/scripts.js'\n\nexport const {\n${exported}} = scripts['${entry}']()\n`
}
