// Puts the compiled modules together: one file an entry and few shared chunks, since every file that Node loads costs
// about a millisecond. What is imported on use stays in files of its own. Declarations stay as they are.
//
// The command is put together a second time by itself, as scripts: V8 can keep what it made of a script, and of a
// module only newer versions of Node let it (see docs/design/performance.md).
import { readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { buildInspector } from '../inspector/build.mjs'
import { asScript } from './as-script.mjs'
import { breakLines } from './break-lines.mjs'

const root = resolve(import.meta.dirname, '..')

/**
 * Libraries that go into our files instead of being installed as dependencies: small, or needed by few and large in
 * packages. Each is loaded with the first use of its part.
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
]

/** The same for the command: what every run needs before it asks the model lies in one file. @type {typeof together} */
const togetherForCommand = [
  ['help', 'cli/run-cli', 'cli/help'],
  [
    'run',
    'cli/args',
    'cli/failure',
    'cli/commands/run',
    'cli/headless/run-headless',
    'session/session',
    'session/check-options',
    'session/journal/restore',
  ],
]

/**
 * What a run needs only after the model has answered, if at all: a group, the folders and modules in it, and with `!`
 * those that are needed before. Whatever is put wrongly here costs time and nothing else; a test counts what is loaded
 * before the first request.
 * @type {typeof together}
 */
const laterForCommand = [
  ['shell-rules', 'authority/shell/', 'unbash/'],
  ['search', 'workspace/search/', 'tool/search/'],
  [
    'processes',
    // Loaded by itself with its first use. As part of a group it also stops the bundler, which drops what nothing
    // imports of it.
    ...without('workspace/sandbox/', 'guard/binaries'),
    'workspace/git/',
    ...['workspace/server-program', 'workspace/tree-walk'],
    ...['workspace/scratch/copy-tree', 'workspace/scratch/remove-tree'],
    ...without('workspace/net/', 'allow-private'),
    ...without('workspace/shell/', 'confinement', 'jobs', 'local-shell', 'with-timeout'),
  ],
  ['program', ...without('program/machine/', 'machine', 'thread-pool', 'errors', 'type-stripper')],
  ['sqlite', 'store/sqlite/'],
  ['memory', ...without('memory/', 'feature')],
  ['verify', ...without('verify/', 'feature', 'summary', 'report', 'read-commands', 'read-report')],
  ['servers', 'mcp/session-servers'],
  [
    'subagents',
    ...[
      ...['auto-delegation', 'known-agents', 'open-asks', 'orchestrate', 'orchestration', 'perform-task'],
      ...['shared-tokens', 'structured-answer', 'suggest-agents', 'task-board', 'task-notes', 'task-options'],
      ...['task-record', 'task-text', 'tasks'],
    ].map((name) => `subagents/${name}`),
    ...without('objects/', 'feature'),
    ...['session/btw', 'session/compact', 'session/resume-run'],
  ],
  ['history', ...without('session/history/', 'file-changes', 'seen-files')],
  [
    'calls',
    ...without(
      'authority/',
      ...[
        'default-rules',
        'manifest',
        'mode',
        'permission',
        'policy',
        'protected-files',
        'recent',
        'shared-policy',
        'verdict',
        'watchdog',
      ],
    ),
    ...without(
      'loop/',
      ...['ask-model', 'budget', 'check-answer', 'context-gauge', 'events', 'gate', 'host-env', 'on-abort'],
      ...['repetition', 'run', 'run-state', 'session-authority', 'usage', 'write-order'],
      ...['compaction/compact', 'compaction/settings'],
    ),
    ...without(
      'tool/',
      ...['contract', 'create-json-tool', 'errors', 'frozen-copy', 'govern', 'json', 'lane', 'middleware'],
      // The definitions of built-in tools need it when they are loaded, and parts of this chunk need the definitions.
      ...['nearest', 'omit-undefined', 'published-schema', 'requirement-check', 'tool-set', 'unless-aborted'],
    ),
    ...without('hooks/', 'feature', 'gate-hooks', 'hooks'),
    ...without(
      'workspace/files/',
      ...['local-files', 'open-directory', 'path-style', 'protected-path', 'system-error'],
    ),
    ...without('toolbox/extension/', 'names'),
    ...['workspace/yaml/', 'toolbox/git/', 'toolbox/web-fetch/', 'toolbox/web-search/', '@cfworker/'],
    ...['apply-hunks', 'unified-diff', 'line-window', 'nearest-path', 'replace-text', 'missing-text'].map(
      inToolbox,
    ),
    ...['diff-hunk', 'diff-path', 'content-kind'].map(inToolbox),
  ],
]

/** @param {string} folder @param {readonly string[]} names */
function without(folder, ...names) {
  return [folder, ...names.map((name) => `!${folder}${name}`)]
}

/** @param {string} name */
function inToolbox(name) {
  return `toolbox/${name}`
}

/**
 * Bundles everything that is published: the library's entries with their declarations, and the command.
 * @param {string} modules where the compiler put the scripts @param {string} target
 */
export async function bundlePackage(modules, target) {
  const { exports } = packageFile()
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.default],
  )
  const library = await putTogether({
    modules,
    scripts: entries.map((script) => script.replace(/^\.\/dist\//, '')),
    groups: groupsOf(modules, together),
    output: { dir: target, format: 'esm', chunkFileNames: 'chunks/[name]-[hash].js' },
  })
  for (const { fileName } of library) breakLines(join(target, fileName))
  const command = await bundleCommand(modules, target)
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf([...library, ...command]))
  keepDeclarations(target, entries)
}

/**
 * Bundles the command with the page that it serves: what `npm start` runs.
 * @param {string} modules where the compiler put the scripts @param {string} target
 */
export async function bundleCommand(modules, target) {
  const output = /** @type {const} */ ({
    dir: join(target, 'cli'),
    format: 'cjs',
    chunkFileNames: '[name]-[hash].js',
  })
  // The entry that Node loads is a bundle of its own: it loads the other files.
  await putTogether({ modules, scripts: ['cli/main.js'], groups: [], output })
  const command = await putTogether({
    modules,
    scripts: ['cli/command-process.js'],
    groups: [...laterGroups(modules), ...groupsOf(modules, togetherForCommand)],
    output,
  })
  for (const { fileName } of command) asScript(join(target, 'cli', fileName))
  for (const { fileName } of command) breakLines(join(target, 'cli', fileName))
  writeFileSync(join(target, 'cli/package.json'), '{ "type": "commonjs" }\n')
  return [...command, ...(await buildInspector(join(target, 'inspector')))]
}

function packageFile() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

/**
 * @param {{
 *   modules: string
 *   scripts: readonly string[]
 *   groups: import('rolldown').CodeSplittingGroup[]
 *   output: import('rolldown').OutputOptions & { dir: string }
 * }} what
 */
async function putTogether({ modules, scripts, groups, output }) {
  const { dependencies, peerDependencies } = packageFile()
  const nameOf = (/** @type {string} */ script) =>
    output.format === 'cjs' ? basename(script, '.js') : script.replace(/\.js$/, '')
  /** @param {string} id @param {readonly string[]} names */
  const isOneOf = (id, names) => names.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rolldown({
    // Comments and hashes name modules relative to it: two builds are the same, whatever their working directory is called.
    cwd: modules,
    input: Object.fromEntries(scripts.map((script) => [nameOf(script), resolve(modules, script)])),
    platform: 'node',
    // Entries of the library export their public names. Only the command's own chunks see what it exports.
    ...(output.format === 'cjs' && { preserveEntrySignatures: 'allow-extension' }),
    // Its modules, of which only what is used is taken.
    resolve: {
      alias: {
        sucrase: 'sucrase/dist/esm/index.js',
        '@modelcontextprotocol/client/_shims': join(root, 'scripts/mcp-shims.mjs'),
        '@modelcontextprotocol/server/_shims': join(root, 'scripts/mcp-shims.mjs'),
      },
    },
    // A peer is the host's to bring; what a library inside needs of it goes inside as well.
    external: (id, importer) =>
      id.startsWith('node:') ||
      isOneOf(id, Object.keys(dependencies)) ||
      (isOneOf(id, Object.keys(peerDependencies)) && !importer?.includes('/node_modules/')),
    onLog: (level, log) => {
      // A module that is imported on use and is there already for another reason does no harm.
      if (level === 'warn' && log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(log.message)
    },
  })
  const { output: files } = await build.write({
    ...output,
    entryFileNames: '[name].js',
    comments: false,
    codeSplitting: { groups },
  })
  await build.close()
  const chunks = files.filter((file) => file.type === 'chunk')
  return chunks
}

/**
 * Removes declarations that no entry leads to.
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
 * What is loaded together lies together: without this, every set of places that share a module makes a file of its own.
 * Each group is what its roots load at once, without what the groups before it hold; so files never lead in a ring.
 * @param {string} modules @param {typeof together} groups
 */
function groupsOf(modules, groups) {
  const taken = new Set()
  return groups.map(([name, ...roots]) => {
    const own = new Set(
      roots.flatMap((root) => [...loadedBy(resolve(modules, `${root}.js`))]).filter((id) => !taken.has(id)),
    )
    for (const id of own) taken.add(id)
    return { name, test: (/** @type {string} */ id) => own.has(id) }
  })
}

/** @param {string} modules */
function laterGroups(modules) {
  // In a clone that `npm test` builds in, node_modules is a link, and the bundler names real files.
  const places = [resolve(modules), realpathSync(join(root, 'node_modules'))].map((place) => `${place}/`)
  return laterForCommand.map(([name, ...rules]) => ({
    name,
    test: (/** @type {string} */ id) => {
      const place = places.find((each) => id.startsWith(each)) ?? ''
      const path = id.slice(place.length).replace(/\.js$/, '')
      const holds = (/** @type {string} */ rule) =>
        rule.endsWith('/') ? path.startsWith(rule) : path === rule
      return rules.some(holds) && !rules.some((rule) => rule.startsWith('!') && holds(rule.slice(1)))
    },
    priority: 1,
    includeDependenciesRecursively: false,
  }))
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

/**
 * What libraries that went into the files ask to be handed on with them.
 * @param {readonly import('rolldown').OutputChunk[]} chunks
 */
function licensesOf(chunks) {
  const inside = chunks.flatMap(({ moduleIds }) => moduleIds)
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
