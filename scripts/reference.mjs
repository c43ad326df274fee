// Writes docs/reference.md from the declarations of a build: `node scripts/reference.mjs`. A test compares the two.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

/** @typedef {{ specifier: string, types: string }} Entry */
/** @typedef {{ type: string, start: number, end: number, [key: string]: unknown }} Node */
/** A declaration: where it is, and the statement that its comment is before. @typedef {{ node: Node, outer: Node }} Statement */
/** @typedef {{ specifier: string, name: string }} Elsewhere */
/**
 * @typedef {{
 *   path: string, text: string, everythingOf: string[],
 *   declared: Map<string, Statement[]>, given: Map<string, Elsewhere | { local: string }>, taken: Map<string, Elsewhere>,
 * }} Declarations
 */
/** @typedef {{ file: Declarations, name: string, statements: Statement[] }} Found */

const begin = '<!-- reference:begin -->'
const end = '<!-- reference:end -->'
const longest = 180
/** The maximum length of a list of field names: readers search for them, so they are listed. */
const maxListLength = 1500

/**
 * The text between the markers: for each entry its names, each described once, with the entry whose folder it is
 * declared in.
 * @param {readonly Entry[]} entries @param {(path: string) => string} readText
 */
export function renderReference(entries, readText) {
  const reader = createReader(readText)
  const names = new Map(entries.map((entry) => [entry, reader.exportsOf(entry.types)]))
  /** @param {Entry} entry @param {string} name @param {Found} found */
  const homeOf = (entry, name, found) => {
    const holders = entries.filter((each) => keyOf(names.get(each)?.get(name)) === keyOf(found))
    return (
      holders.find(({ types }) => types !== 'dist/index.d.ts' && isInFolder(types, found)) ??
      holders[0] ??
      entry
    )
  }
  return entries
    .map((entry) => {
      const exported = [...(names.get(entry) ?? [])].sort(([a], [b]) => compare(a, b))
      const own = exported.filter(([name, found]) => homeOf(entry, name, found) === entry)
      const others = entries
        .filter((other) => other !== entry)
        .map((other) => ({
          other,
          listed: exported.filter(([name, found]) => homeOf(entry, name, found) === other),
        }))
        .filter(({ listed }) => listed.length > 0)
      const known = new Set(exported.map(([name]) => name))
      return [
        `## ${entry.specifier}`,
        ...groups.flatMap(({ title, holds }) => {
          const lines = own
            .filter(([, found]) => holds(kindOf(found)))
            .map(([name, found]) => describe(name, found, reader, known))
          return lines.length === 0 ? [] : [`### ${title} of ${entry.specifier}`, lines.join('\n')]
        }),
        ...others.map(
          ({ other, listed }) =>
            `Also here, from [${other.specifier}](#${anchorOf(other.specifier)}): ${listed.map(([name]) => `\`${name}\``).join(', ')}.`,
        ),
      ].join('\n\n')
    })
    .join('\n\n')
}

/** A page with the reference put between its markers. @param {string} page @param {string} reference */
export function withReference(page, reference) {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The page needs the lines ${begin} and ${end}.`)
  return `${page.slice(0, from + begin.length)}\n\n${reference}\n\n${page.slice(to)}`
}

/** @type {readonly { title: string, holds: (kind: string) => boolean }[]} */
const groups = [
  { title: 'Classes', holds: (kind) => kind === 'ClassDeclaration' },
  { title: 'Functions', holds: (kind) => kind === 'TSDeclareFunction' },
  { title: 'Values', holds: (kind) => kind === 'VariableDeclaration' },
  { title: 'Types', holds: (kind) => /^TS(Interface|TypeAlias)Declaration$/.test(kind) },
]

/** @param {Found} found */
function kindOf({ statements }) {
  const kinds = statements.map(({ node }) => node.type)
  // If a value and a type have the same name, the value is described.
  return kinds.find((kind) => !kind.startsWith('TSInterface') && !kind.startsWith('TSType')) ?? kinds[0] ?? ''
}

/** @param {string} name @param {Found} found @param {ReturnType<typeof createReader>} reader @param {ReadonlySet<string>} known */
function describe(name, found, reader, known) {
  const { file, statements } = found
  const shown = statements.filter(({ node }) => node.type === kindOf(found)).at(-1)
  if (shown === undefined) throw new Error(`${file.path} does not declare ${name}`)
  const words =
    statements.map((each) => commentBefore(file.text, each.outer.start)).find((each) => each !== '') ?? ''
  const line = item(0, signatureOf(name, found.name, file, shown.node, known), words)
  if (shown.node.type !== 'ClassDeclaration') return line
  return [
    line,
    ...membersOf(file, shown.node, reader, known).map((each) => item(1, each.signature, each.words)),
  ].join('\n')
}

/** @param {number} depth @param {string} signature @param {string} words */
function item(depth, signature, words) {
  const code = signature.includes('`') ? `\`\` ${signature} \`\`` : `\`${signature}\``
  return `${'  '.repeat(depth)}- ${code}${words === '' ? '' : `: ${words}`}`
}

/** @param {string} name @param {string} local @param {Declarations} file @param {Node} node @param {ReadonlySet<string>} known */
function signatureOf(name, local, file, node, known) {
  const own = name === local ? '' : ` (declared as ${local})`
  /** @param {unknown} part */
  const text = (part) => (isNode(part) ? plain(file.text.slice(part.start, part.end)) : '')
  switch (node.type) {
    case 'ClassDeclaration':
      return known.has(nameOf(node['superClass']))
        ? `class ${name} extends ${nameOf(node['superClass'])}${text(node['superTypeArguments'])}`
        : `class ${name}`
    case 'TSDeclareFunction': {
      const from = isNode(node['id']) ? node['id'].end : node.start
      return cut(`${name}${plain(file.text.slice(from, node.end))}`) + own
    }
    case 'VariableDeclaration': {
      const declarator = nodesIn(node['declarations']).find(({ id }) => nameOf(id) === local)
      const id = declarator?.['id']
      const initial = text(declarator?.['init'])
      return (
        cut(
          `${name}${isNode(id) ? text(id['typeAnnotation']) : ''}${initial === '' ? '' : ` = ${initial}`}`,
        ) + own
      )
    }
    case 'TSInterfaceDeclaration': {
      const parents = nodesIn(node['extends']).map(text)
      const body = isNode(node['body']) ? nodesIn(node['body']['body']) : []
      const above = parents.length > 0 ? ` extends ${parents.join(', ')}` : ''
      return cut(`${name}${text(node['typeParameters'])}${above} ${memberNames(body)}`, maxListLength) + own
    }
    default: {
      const type = node['typeAnnotation']
      const head = `${name}${text(node['typeParameters'])}`
      if (isShape(type) && type.type === 'TSTypeLiteral')
        return cut(`${head} ${shapeOf(type, text)}`, maxListLength) + own
      return isShape(type)
        ? cut(`${head} = ${shapeOf(type, text)}`, maxListLength) + own
        : cut(`${head} = ${text(type)}`) + own
    }
  }
}

/** An object, or something and an object. @param {unknown} type @returns {type is Node} */
function isShape(type) {
  if (!isNode(type)) return false
  return (
    type.type === 'TSTypeLiteral' ||
    (type.type === 'TSIntersectionType' && nodesIn(type['types']).some(isShape))
  )
}

/** @param {Node} type @param {(part: unknown) => string} text @returns {string} */
function shapeOf(type, text) {
  if (type.type === 'TSTypeLiteral') return memberNames(nodesIn(type['members']))
  if (!isShape(type)) return text(type)
  return nodesIn(type['types'])
    .map((part) => shapeOf(part, text))
    .join(' & ')
}

/** What there is in an object, by name; the types are for the editor to show. @param {readonly Node[]} members */
function memberNames(members) {
  const names = members.flatMap((member) => {
    const name = nameOf(member['key'])
    if (name !== '')
      return [
        `${name}${member['optional'] === true ? '?' : ''}${member.type === 'TSMethodSignature' ? '()' : ''}`,
      ]
    return member.type === 'TSIndexSignature' ? ['[key]'] : []
  })
  return names.length === 0 ? '{ }' : `{ ${[...new Set(names)].join(', ')} }`
}

/**
 * The public members of a class, those of parents that are not public names included.
 * @param {Declarations} file @param {Node} node @param {ReturnType<typeof createReader>} reader @param
 * {ReadonlySet<string>} known
 * @returns {{ name: string, signature: string, words: string }[]}
 */
function membersOf(file, node, reader, known) {
  const own = (isNode(node['body']) ? nodesIn(node['body']['body']) : []).flatMap((member) => {
    const name = nameOf(member['key'])
    const hidden = member['accessibility'] === 'private' || member['accessibility'] === 'protected'
    if (hidden || name === '' || name.startsWith('#') || member['kind'] === 'set') return []
    // Users catch errors and do not construct them.
    if (name === 'constructor' && nameOf(node['superClass']).endsWith('Error')) return []
    const words = commentBefore(file.text, member.start)
    const raw = plain(file.text.slice(member.start, member.end)).replace(/^get (.*)\(\)/, '$1')
    const signature = cut(
      name === 'constructor' ? raw.replace(/^constructor/, `new ${nameOf(node['id'])}`) : raw,
    )
    return [{ name, signature, words }]
  })
  const parent = nameOf(node['superClass'])
  const above = parent === '' || known.has(parent) ? undefined : reader.find(file.path, parent)
  const declaration = above?.statements.find((each) => each.node.type === 'ClassDeclaration')
  if (above === undefined || declaration === undefined) return own
  const covered = new Set([...own.map(({ name }) => name), 'constructor'])
  const inherited = membersOf(above.file, declaration.node, reader, known)
  const given = typesGiven(file, node, above.file, declaration.node)
  return [
    ...own,
    ...inherited
      .filter(({ name }) => !covered.has(name))
      .map((member) => ({
        ...member,
        signature: given.reduce(
          (text, [pattern, type]) => text.replaceAll(pattern, () => type),
          member.signature,
        ),
      })),
  ]
}

/**
 * The type parameters of a parent class, each with the type that a class gives for it, or with its default.
 * @param {Declarations} file @param {Node} node @param {Declarations} above @param {Node} parent
 * @returns {[RegExp, string][]}
 */
function typesGiven(file, node, above, parent) {
  /** @param {Declarations} from @param {unknown} list */
  const partsOf = (from, list) =>
    (isNode(list) ? nodesIn(list['params']) : []).map((part) => ({
      part,
      text: plain(from.text.slice(part.start, part.end)),
    }))
  const types = partsOf(file, node['superTypeArguments'])
  return partsOf(above, parent['typeParameters']).map(({ part }, at) => {
    const usual = isNode(part['default'])
      ? plain(above.text.slice(part['default'].start, part['default'].end))
      : 'unknown'
    return [new RegExp(`\\b${nameOf(part['name'])}\\b`, 'g'), types[at]?.text ?? usual]
  })
}

/**
 * Reads declaration files, each once, and finds what a name means through re-exports and imports.
 * @param {(path: string) => string} readText
 */
function createReader(readText) {
  /** @type {Map<string, Declarations>} */
  const files = new Map()
  /** @param {string} path */
  const open = (path) => {
    const known = files.get(path) ?? readDeclarations(path, readText(path))
    files.set(path, known)
    return known
  }
  /** @param {string} path @param {string} name @returns {Found | undefined} */
  const find = (path, name) => {
    const file = open(path)
    const given = file.given.get(name)
    if (given !== undefined && 'specifier' in given) return follow(path, given)
    const local = given?.local ?? name
    const statements = file.declared.get(local)
    if (statements !== undefined) return classOf(path, file, statements) ?? { file, name: local, statements }
    const taken = file.taken.get(local)
    if (taken !== undefined) return follow(path, taken)
    for (const specifier of file.everythingOf) {
      const found = follow(path, { specifier, name })
      if (found !== undefined) return found
    }
    return undefined
  }
  /**
   * The class that a value and a type of one name stand for.
   * @param {string} path @param {Declarations} file @param {Found['statements']} statements @returns {Found |
   * undefined}
   */
  const classOf = (path, file, statements) => {
    const type = statements.find(({ node }) => node.type === 'TSTypeAliasDeclaration')?.node['typeAnnotation']
    if (statements.length < 2 || !isNode(type) || type.type !== 'TSTypeReference') return undefined
    const taken = file.taken.get(nameOf(type['typeName']))
    const found = taken && follow(path, taken)
    return found?.statements.some(({ node }) => node.type === 'ClassDeclaration') ? found : undefined
  }
  /** @param {string} from @param {Elsewhere} elsewhere */
  const follow = (from, { specifier, name }) =>
    specifier.startsWith('.') ? find(targetOf(from, specifier), name) : undefined
  /** @param {string} path @returns {Map<string, Found>} */
  const exportsOf = (path) => {
    const file = open(path)
    /** @type {Map<string, Found>} */
    const all = new Map()
    for (const specifier of file.everythingOf) {
      for (const [name, found] of exportsOf(targetOf(path, specifier))) all.set(name, found)
    }
    for (const name of file.given.keys()) {
      const found = find(path, name)
      if (found === undefined) throw new Error(`${path} exports ${name}, which is declared nowhere`)
      all.set(name, found)
    }
    return all
  }
  return { find, exportsOf }
}

/** @param {string} path @param {string} text @returns {Declarations} */
function readDeclarations(path, text) {
  /** @type {Declarations} */
  const file = { path, text, everythingOf: [], declared: new Map(), given: new Map(), taken: new Map() }
  /** @type {unknown} */
  const program = parseAst(text, { lang: 'dts' }, path)
  for (const outer of isNode(program) ? nodesIn(program['body']) : []) {
    const specifier = literalOf(outer['source'])
    const inner = outer['declaration']
    if (outer.type === 'ExportAllDeclaration' && specifier !== undefined) file.everythingOf.push(specifier)
    if (outer.type === 'ImportDeclaration' && specifier !== undefined) {
      for (const each of nodesIn(outer['specifiers']))
        file.taken.set(nameOf(each['local']), { specifier, name: nameOf(each['imported']) })
    }
    if (outer.type === 'ExportNamedDeclaration') {
      for (const each of nodesIn(outer['specifiers'])) {
        const local = nameOf(each['local'])
        file.given.set(
          nameOf(each['exported']),
          specifier === undefined ? { local } : { specifier, name: local },
        )
      }
    }
    const node = isNode(inner) ? inner : outer
    for (const name of declaredNames(node)) {
      file.declared.set(name, [...(file.declared.get(name) ?? []), { node, outer }])
      if (node !== outer) file.given.set(name, { local: name })
    }
  }
  return file
}

/** @param {Node} node */
function declaredNames(node) {
  if (node.type === 'VariableDeclaration') return nodesIn(node['declarations']).map(({ id }) => nameOf(id))
  return /Declaration$|^TSDeclareFunction$/.test(node.type) && isNode(node['id']) ? [nameOf(node['id'])] : []
}

/** The first sentence of the comment right before a place. @param {string} text @param {number} at */
function commentBefore(text, at) {
  const before = text.slice(0, at).trimEnd()
  if (!before.endsWith('*/')) return ''
  const opened = before.lastIndexOf('/*')
  if (!before.startsWith('/**', opened)) return ''
  const words = before
    .slice(opened + 3, -2)
    .replace(/^\s*\* ?/gm, '')
    .split('```')[0]
    ?.replace(/\{@link (\w+)\}/g, '`$1`')
    .replace(/^@deprecated /, 'Deprecated: ')
    .replace(/\s+/g, ' ')
    .trim()
  return /^.*?[.!?](?=\s|$)/.exec(words ?? '')?.[0] ?? words ?? ''
}

/** On one line, without comments and what says nothing to a reader. @param {string} code */
function plain(code) {
  return code
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(/\breadonly (?!\w+\[\]|\()/g, '')
    .replace(/\s+/g, ' ')
    .replace(/([([]) | ([)\]])/g, '$1$2')
    .replace(/; \}/g, ' }')
    .replace(/;$/, '')
    .trim()
}

/** @param {string} code @param {number} [limit] */
function cut(code, limit = longest) {
  return code.length <= limit ? code : `${code.slice(0, limit).replace(/\s+\S*$/, '')} …`
}

/** @param {string} from @param {string} specifier */
function targetOf(from, specifier) {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.d.ts')
}

/** @param {string} types @param {Found} found */
function isInFolder(types, { file }) {
  return file.path.startsWith(`${posix.dirname(types)}/`)
}

/** @param {Found | undefined} found */
function keyOf(found) {
  return found === undefined ? undefined : `${found.file.path}#${found.name}`
}

/** @param {string} specifier */
function anchorOf(specifier) {
  return specifier.replace('/', '')
}

/** @param {string} a @param {string} b */
function compare(a, b) {
  return a < b ? -1 : 1
}

/** @param {unknown} node @returns {string} */
function nameOf(node) {
  if (!isNode(node)) return ''
  return typeof node['name'] === 'string'
    ? `${node.type === 'PrivateIdentifier' ? '#' : ''}${node['name']}`
    : (literalOf(node) ?? '')
}

/** @param {unknown} node */
function literalOf(node) {
  return isNode(node) && typeof node['value'] === 'string' ? node['value'] : undefined
}

/** @param {unknown} value @returns {Node[]} */
function nodesIn(value) {
  return Array.isArray(value) ? value.filter(isNode) : []
}

/** @param {unknown} value @returns {value is Node} */
function isNode(value) {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** The entries of the package that hold code. @param {string} packageJson @returns {Entry[]} */
export function entriesOf(packageJson) {
  const { name, exports } = JSON.parse(packageJson)
  return Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [{ specifier: posix.join(name, subpath), types: posix.normalize(target.types) }],
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  /** @param {string} path */
  const readText = (path) => readFileSync(join(root, path), 'utf8')
  const page = 'docs/reference.md'
  const reference = renderReference(entriesOf(readText('package.json')), readText)
  writeFileSync(join(root, page), withReference(readText(page), reference))
}
