// Bundles the compiled modules: one file per entry and few shared chunks, since every file that Node loads costs about a
// millisecond. Most of the text is in scripts (CommonJS), which load each other on first use: Node compiles only
// what a program uses, and sources stay plain imports. What runs outside Node too, `capstan/tool` and `capstan/client`,
// is in ES modules. Declarations stay as they are.
//
// The command is bundled a second time by itself, since V8 can cache what it compiled of its scripts (see
// docs/design/performance.md).
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { buildInspector } from '../inspector/build.mjs'
import { asScripts } from './as-script.mjs'
import { breakLines } from './break-lines.mjs'
import { exportedNames } from './exported-names.mjs'
import { fileOfModule, loadStages } from './load-stages.mjs'
import { neutralPart } from './neutral-part.mjs'
import { stableShapes } from './stable-shapes.mjs'

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
  ['other', 'index', 'session/session', 'session/check-options', 'session/journal/restore', 'program/index'],
]

/** Entries that run outside Node too. */
const neutralEntries = ['tool/index.js', 'client/index.js']

/** The same for the command: what every run needs before it asks the model is in one file. @type {typeof together} */
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
    // Loaded by itself on first use. As part of a group it also stops the bundler, which drops what nothing
    // imports of it.
    ...without('workspace/sandbox/', 'guard/binaries', 'backends'),
    ...without('workspace/limits/', 'resource-limits'),
    'toolbox/limit-text',
    'workspace/git/',
    ...without('workspace/egress/', 'host-rules', 'network-options'),
    ...['workspace/server-program', 'workspace/tree-walk'],
    ...['workspace/scratch/copy-tree', 'workspace/scratch/remove-tree'],
    ...without('workspace/net/', 'allow-private'),
    ...without('workspace/shell/', 'confinement', 'jobs', 'local-shell', 'with-timeout'),
  ],
  ['program', ...without('program/machine/', 'machine', 'thread-pool', 'errors', 'type-stripper')],
  ['sqlite', 'store/sqlite/'],
  ['memory', ...without('memory/', 'feature', 'memory-tools')],
  ['verify', ...without('verify/', 'feature', 'summary', 'report', 'read-commands', 'read-report')],
  ['servers', 'mcp/session-servers'],
  // Used when a session has waited for its user, and with the first file that was read.
  ['idle', 'session/flat-value'],
  // Used only where a supervisor, a goal, a drained node, a direct call of the host, a file of the workspace, an earlier report,
  // a new rule or an agent file asks for it.
  [
    'rare',
    ...['supervise/transport', 'goals/read-goal', 'session/passivate', 'agent/config/stricter-network'],
    ...['verify/read-report', 'workspace/rules/exclusive', 'subagents/files/agent-fields'],
    ...['session/direct-requests', 'session/emit-cluster'],
  ],
  [
    'subagents',
    ...[
      ...['auto-delegation', 'known-agents', 'open-asks', 'orchestrate', 'orchestration', 'perform-task'],
      ...['shared-tokens', 'suggest-agents', 'task-board', 'task-notes', 'task-options'],
      ...['task-record', 'task-text', 'tasks'],
    ].map((name) => `subagents/${name}`),
    ...without('objects/', 'feature'),
    ...['session/btw', 'session/compact', 'session/resume-run', 'session/history-blocks'],
    ...['commands/builtins', 'commands/commands', 'session/journal/interrupted'],
  ],
  [
    'history',
    ...without('session/history/', 'file-changes', 'seen-files'),
    // Reads the log of a session that already existed.
    ...['store/fold-session', 'session/journal/restored-events', 'session/journal/interrupted'],
  ],
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
      ...['contract', 'create-json-tool', 'errors', 'frozen-copy', 'govern', 'json', 'json-length', 'lane'],
      // The definitions of built-in tools need two of these when they are loaded, and parts of this chunk need the
      // definitions: object-schema and omit-undefined.
      ...[
        'middleware',
        'nearest',
        'object-schema',
        'omit-undefined',
        'published-schema',
        'requirement-check',
      ],
      ...['tool-set', 'unless-aborted'],
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
    ...['diff-hunk', 'diff-path', 'content-kind', 'read-bytes', 'text-file', 'line-endings'].map(inToolbox),
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
  const library = await bundleLibrary(modules, target)
  const command = await bundleCommand(modules, target)
  for (const name of shared) useFrom(library, command, name, target)
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licensesOf([...library, ...command]))
  keepDeclarations(target)
}

/** Modules that are imported on use, and large: the command of a package takes them from the library. */
const shared = ['type-stripper', 'binaries']

/**
 * @param {readonly import('rolldown').OutputChunk[]} library @param {readonly import('rolldown').OutputChunk[]} command
 * @param {string} name @param {string} target
 */
function useFrom(library, command, name, target) {
  const [from, own] = [library, command].map(
    (chunks) => chunks.find((chunk) => chunk.name === name)?.fileName,
  )
  if (from === undefined || own === undefined) throw new Error(`There is no chunk ${name}.`)
  writeFileSync(join(target, 'cli', own), `'use strict';\nmodule.exports = require("../chunks/${from}");\n`)
}

/**
 * Bundles the entries of the library. Those that run outside Node are ES modules with all that they use. The others are
 * scripts, each with an ES module that exports its names. `oneByOne` makes a file of each module, for
 * `scripts/load-stages.mjs`.
 * @param {string} modules @param {string} target @param {{ oneByOne?: boolean }} [options]
 */
export async function bundleLibrary(modules, target, { oneByOne = false } = {}) {
  const entries = libraryEntries()
  const isNeutral = (/** @type {string} */ entry) => neutralEntries.includes(entry)
  const named = (/** @type {readonly string[]} */ scripts) =>
    Object.fromEntries(scripts.map((script) => [script.replace(/\.js$/, ''), resolve(modules, script)]))
  const neutral = neutralPart([...loadedBy(resolve(modules, 'tool/index.js'))])
  const esModules = await putTogether({
    modules,
    input: { ...named(entries.filter(isNeutral)), [`chunks/${neutral.entryName}`]: neutral.entryName },
    groups: groupsOf(modules, [['tool', 'tool/index']]),
    plugins: [neutral.entry],
    output: { dir: target, format: 'esm', chunkFileNames: 'chunks/[name]-[hash].js' },
  })
  const chunks = join(target, 'chunks')
  const scripts = await putTogether({
    modules,
    input: named(entries.filter((entry) => !isNeutral(entry))),
    groups: oneByOne
      ? [eachModule(modules)]
      : [...stageGroups(modules), ...laterGroups(modules), ...groupsOf(modules, together, named(entries))],
    plugins: [neutral.imports],
    // Groups need it. The ES module of an entry exports what the entry itself does.
    preserveEntrySignatures: 'allow-extension',
    output: {
      dir: chunks,
      format: 'cjs',
      entryFileNames: ({ name }) => `${name.replace(/\/index$/, '')}-entry.cjs`,
      chunkFileNames: oneByOne ? '[name].cjs' : '[name]-[hash].cjs',
    },
  })
  const files = scripts.map(({ fileName }) => join(chunks, fileName))
  const stages = Object.keys(loadStages())
  const isHot = (/** @type {string} */ name) => stages.some((stage) => name.startsWith(`${stage}-`))
  asScripts(files, { isHot, immutable: [neutral.partName] })
  for (const file of files) {
    writeFileSync(file, neutral.linked(readFileSync(file, 'utf8')))
    breakLines(file)
  }
  const scriptEntries = scripts.flatMap(({ fileName, facadeModuleId }) => {
    const entry = facadeModuleId === null ? '' : relative(modules, facadeModuleId)
    return entries.includes(entry) ? [{ entry, fileName }] : []
  })
  for (const [name, text] of Object.entries(neutral.files(scriptEntries)))
    writeFileSync(join(chunks, name), text)
  for (const { entry } of scriptEntries) {
    mkdirSync(dirname(join(target, entry)), { recursive: true })
    writeFileSync(join(target, entry), neutral.entryModule(entry, exportedNames(resolve(modules, entry))))
  }
  for (const { fileName } of esModules) {
    stableShapes(join(target, fileName))
    breakLines(join(target, fileName))
  }
  return [...esModules, ...scripts]
}

/** Entries of the package, as paths of compiled modules. @returns {string[]} */
function libraryEntries() {
  const entries = Object.values(packageFile().exports)
  return entries.flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.default.replace(/^\.\/dist\//, '')],
  )
}

/** Bundles the command with the page that it serves: what `npm start` runs.
 * @param {string} modules where the compiler put the scripts @param {string} target
 */
export async function bundleCommand(modules, target) {
  const output = /** @type {const} */ ({
    dir: join(target, 'cli'),
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  // The entry that Node loads is a bundle of its own: it loads the other files.
  await putTogether({ modules, input: { main: resolve(modules, 'cli/main.js') }, groups: [], output })
  const command = await putTogether({
    modules,
    input: { 'command-process': resolve(modules, 'cli/command-process.js') },
    groups: [...laterGroups(modules), ...groupsOf(modules, togetherForCommand)],
    // Only the command's own chunks see what it exports.
    preserveEntrySignatures: 'allow-extension',
    output,
  })
  const files = command.map(({ fileName }) => join(target, 'cli', fileName))
  asScripts(files, { importWith: 'importModule' })
  for (const file of files) breakLines(file)
  writeFileSync(join(target, 'cli/package.json'), '{ "type": "commonjs" }\n')
  return [...command, ...(await buildInspector(join(target, 'inspector')))]
}

function packageFile() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

/**
 * @param {{
 *   modules: string
 *   input: Readonly<Record<string, string>>
 *   groups: import('rolldown').CodeSplittingGroup[]
 *   plugins?: import('rolldown').Plugin[]
 *   preserveEntrySignatures?: 'allow-extension'
 *   output: import('rolldown').OutputOptions & { dir: string }
 * }} what
 */
async function putTogether({ modules, groups, output, ...input }) {
  const { dependencies, peerDependencies } = packageFile()
  /** @param {string} id @param {readonly string[]} names */
  const isOneOf = (id, names) => names.some((name) => id === name || id.startsWith(`${name}/`))
  const build = await rolldown({
    ...input,
    // Comments and hashes name modules relative to it: two builds are the same, whatever their working directory is called.
    cwd: modules,
    platform: 'node',
    // Its ES modules, of which only the used parts are bundled.
    resolve: {
      // In a clone that `npm test` builds in, node_modules is a link; the result must not depend on that.
      symlinks: false,
      alias: {
        sucrase: 'sucrase/dist/esm/index.js',
        '@modelcontextprotocol/client/_shims': join(root, 'scripts/mcp-shims.mjs'),
        '@modelcontextprotocol/server/_shims': join(root, 'scripts/mcp-shims.mjs'),
      },
    },
    // The host provides peer dependencies; the parts of a peer that a bundled library needs are bundled too.
    external: (id, importer) =>
      id.startsWith('node:') ||
      isOneOf(id, Object.keys(dependencies)) ||
      (isOneOf(id, Object.keys(peerDependencies)) && !importer?.includes('/node_modules/')),
    // Its warning about slow callbacks would stop the build on a busy machine.
    checks: { bundlerTimings: false },
    onLog: (level, log) => {
      // A module that is imported on use and also loaded for another reason is harmless.
      if (level === 'warn' && log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(log.message)
    },
  })
  const { output: files } = await build.write({
    entryFileNames: '[name].js',
    ...output,
    comments: false,
    codeSplitting: { groups },
  })
  await build.close()
  const chunks = files.filter((file) => file.type === 'chunk')
  return chunks
}

/** Removes declarations that no entry leads to. @param {string} target */
function keepDeclarations(target) {
  const kept = new Set()
  for (const entry of libraryEntries()) declaredBy(resolve(target, entry.replace(/\.js$/, '.d.ts')), kept)
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
 * @param {Readonly<Record<string, string>>} [entries] modules that have files of their own
 */
function groupsOf(modules, groups, entries = {}) {
  const taken = new Set(Object.values(entries))
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
  const pathOf = modulePaths(modules)
  return laterForCommand.map(([name, ...rules]) => ({
    name,
    test: (/** @type {string} */ id) => {
      const path = pathOf(id)
      const holds = (/** @type {string} */ rule) =>
        rule.endsWith('/') ? path.startsWith(rule) : path === rule
      return rules.some(holds) && !rules.some((rule) => rule.startsWith('!') && holds(rule.slice(1)))
    },
    priority: 1,
    includeDependenciesRecursively: false,
  }))
}

/** What the library loads by the time a program has reached each stage. @param {string} modules */
function stageGroups(modules) {
  const pathOf = modulePaths(modules)
  return Object.entries(loadStages()).map(([name, paths]) => {
    const own = new Set(paths)
    return {
      name,
      test: (/** @type {string} */ id) => own.has(pathOf(id)),
      priority: 2,
      includeDependenciesRecursively: false,
    }
  })
}

/**
 * A file for each module of `src/` but the entries, which have files anyway. A module that is only imported on use stops
 * the bundler in a group.
 * @param {string} modules
 */
function eachModule(modules) {
  const pathOf = modulePaths(modules)
  const others = [...libraryEntries(), 'workspace/sandbox/guard/binaries.js']
  return {
    name: (/** @type {string} */ id) => fileOfModule(pathOf(id)),
    debugName: 'each module',
    test: (/** @type {string} */ id) =>
      id.startsWith(resolve(modules)) && !others.includes(`${pathOf(id)}.js`),
    includeDependenciesRecursively: false,
  }
}

/** Names modules by their paths in `src/` or `node_modules/`. @param {string} modules */
function modulePaths(modules) {
  const places = [resolve(modules), join(root, 'node_modules')].map((place) => `${place}/`)
  return (/** @type {string} */ id) => {
    const place = places.find((each) => id.startsWith(each)) ?? ''
    return id.slice(place.length).replace(/\.m?js$/, '')
  }
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
