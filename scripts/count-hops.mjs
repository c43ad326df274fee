// Counts the calls that real jobs make on their way from an entry point to their effect.
//
//   node scripts/count-hops.mjs            prints a table: frames, files, returns to a file already left
//   node scripts/count-hops.mjs --frames   also prints every frame of each walk
//
// Each source file is compiled to a temporary directory with every function wrapped, so that a function knows which
// function called it, also across `await`. A walk begins at the frame of its entry point and ends at the frame that
// calls `rename`, or at the tool's `execute`. Continuations after an `await` count as the frame of the function that
// awaits; constructors and generators are not counted.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { transformSync } from 'rolldown/utils'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { filesIn } = await import('./build.mjs')

if (process.env['CAPSTAN_HOPS'] === undefined) compileAndRun()
else await measure(process.env['CAPSTAN_HOPS'])

/**
 * Compiles below `.build`, so that packages resolve, and measures in a separate process, so that nothing is loaded
 * yet.
 */
function compileAndRun() {
  mkdirSync(join(root, '.build'), { recursive: true })
  const modules = mkdtempSync(join(root, '.build/hops-'))
  try {
    for (const file of filesIn('src')) {
      if (!/(?<!\.test|\.test-d)\.ts$/.test(file)) continue
      const target = join(modules, file.replace(/^src\//, 'modules/').replace(/\.ts$/, '.js'))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, instrument(file.replace(/^src\//, ''), readFileSync(join(root, file), 'utf8')))
    }
    writeFileSync(join(modules, 'package.json'), readFileSync(join(root, 'package.json')))
    const env = { ...process.env, CAPSTAN_HOPS: modules }
    const { status } = spawnSync(
      process.execPath,
      [fileURLToPath(import.meta.url), ...process.argv.slice(2)],
      {
        env,
        stdio: 'inherit',
      },
    )
    process.exitCode = status ?? 1
  } finally {
    rmSync(modules, { recursive: true, force: true })
  }
}

/** The JavaScript of a module with every function wrapped. @param {string} file @param {string} source */
function instrument(file, source) {
  const { code, errors } = transformSync(file, source, { lang: 'ts', target: 'es2022', sourcemap: false })
  if (errors.length > 0) throw new Error(`${file} does not compile: ${errors[0]?.message}`)
  /** @type {{ at: number, text: string, order: number }[]} */
  const insertions = []
  /** @param {number} at @param {string} text */
  const insert = (at, text) => insertions.push({ at, text, order: insertions.length })
  visit(parseAst(code), '', (node, name) => {
    const open = `(globalThis.__hop ?? ((_, body) => body()))(${JSON.stringify(`${file}:${name}`)}, ${node.async ? 'async ' : ''}() => `
    if (node.body.type === 'BlockStatement') {
      insert(node.body.start + 1, ` return ${open}{`)
      insert(node.body.end - 1, '}) ')
    } else {
      insert(node.body.start, `${open}(`)
      insert(node.body.end, '))')
    }
  })
  return applyInsertions(code, insertions)
}

/** @param {string} code @param {{ at: number, text: string, order: number }[]} insertions */
function applyInsertions(code, insertions) {
  let result = ''
  let done = 0
  for (const { at, text } of insertions.toSorted((a, b) => a.at - b.at || closingFirst(a, b))) {
    result += code.slice(done, at) + text
    done = at
  }
  return result + code.slice(done)
}

/** At one position the end of an inner function comes before the end of the outer one. @param {{ order: number }} a @param {{ order: number }} b */
function closingFirst(a, b) {
  return b.order - a.order
}

/**
 * Calls `found` with each function that can be wrapped, outer functions first.
 * @param {any} node @param {string} name @param {(node: any, name: string) => void} found
 */
function visit(node, name, found) {
  if (Array.isArray(node)) {
    for (const one of node) visit(one, name, found)
    return
  }
  if (node === null || typeof node !== 'object') return
  const isFunction = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
  const own =
    node.id?.name ?? (node.key === undefined ? undefined : (node.key.name ?? node.key.value)) ?? name
  if (isFunction && node.generator !== true && node.isConstructor !== true && node.body)
    found(node, own || 'anonymous')
  const inner = isFunction ? '' : own
  for (const [key, value] of Object.entries(node)) {
    if (key === 'type' || value === null || typeof value !== 'object') continue
    // The name of a variable, property or method is the name of the function that is its value.
    const isNamed =
      node.type === 'VariableDeclarator' ||
      node.type === 'Property' ||
      node.type === 'MethodDefinition' ||
      node.type === 'PropertyDefinition'
    if (node.type === 'MethodDefinition' && node.kind === 'constructor' && key === 'value')
      value.isConstructor = true
    if (node.type === 'AssignmentExpression' && key === 'right')
      visit(value, node.left.name ?? node.left.property?.name ?? '', found)
    else visit(value, isNamed ? inner : isFunction ? `in ${own || name || 'anonymous'}` : inner, found)
  }
}

/** Runs the jobs and prints the frames that they passed through. @param {string} modules */
async function measure(modules) {
  const fs = await import('node:fs')
  const { AsyncLocalStorage } = await import('node:async_hooks')
  const { syncBuiltinESMExports } = await import('node:module')
  const { tmpdir } = await import('node:os')
  /** @typedef {{ readonly label: string, readonly caller: Frame | undefined }} Frame */
  /** @type {import('node:async_hooks').AsyncLocalStorage<Frame>} */
  const frames = new AsyncLocalStorage()
  /** @type {string[] | undefined} */
  let reached
  /** @type {(label: string) => boolean} */
  let isEnd = () => false
  /** @param {Frame | undefined} frame */
  const path = (frame) => {
    /** @type {string[]} */
    const labels = []
    for (let at = frame; at !== undefined; at = at.caller) labels.unshift(at.label)
    return labels
  }
  Object.assign(globalThis, {
    __hop: (/** @type {string} */ label, /** @type {() => unknown} */ body) => {
      const frame = { label, caller: frames.getStore() }
      if (reached === undefined && isEnd(label)) reached = path(frame)
      return frames.run(frame, body)
    },
  })
  const { rename } = fs.promises
  let renames = false
  fs.promises.rename = (from, to) => {
    if (renames && reached === undefined && /a\.txt$/.test(String(to))) reached = path(frames.getStore())
    return rename(from, to)
  }
  syncBuiltinESMExports()

  const load = (/** @type {string} */ file) => import(pathToFileURL(join(modules, 'modules', file)).href)
  const { Agent } = await load('agent/agent.js')
  const { MemorySessionStore } = await load('store/index.js')
  const { scriptedModel, startModelServer } = await load('testing/index.js')
  const base = mkdtempSync(join(tmpdir(), 'capstan-hops-'))
  const workspace = join(base, 'workspace')
  const userDir = join(base, 'user')
  mkdirSync(workspace)
  mkdirSync(userDir)

  const edit = {
    toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: 'old', new_string: 'new' } }],
  }
  const look = { toolCalls: [{ name: 'ls', args: {} }] }
  const open = { sandbox: 'off', permissionPolicy: { defaultDecision: 'allow' } }
  /** @type {{ name: string, count: ReturnType<typeof countOf> }[]} */
  const walks = []
  /**
   * Records one walk: what `job` passed through between two frames.
   * @param {string} name @param {RegExp} from @param {string | undefined} to the label of the last frame; undefined:
   * the call of `rename`
   * @param {() => Promise<unknown>} job
   */
  const walk = async (name, from, to, job) => {
    writeFileSync(join(workspace, 'a.txt'), 'old\n')
    reached = undefined
    renames = to === undefined
    isEnd = (label) => label === to
    await job()
    const all = /** @type {string[] | undefined} */ (reached) ?? []
    const start = all.findIndex((label) => from.test(label))
    if (start < 0) throw new Error(`${name}: ${from} is not on the way:\n${all.join('\n')}`)
    const labels = all.slice(start)
    const count = countOf(labels)
    walks.push({ name, count })
    if (process.argv.includes('--frames'))
      console.log(`${name}\n${labels.map((label) => `  ${label}`).join('\n')}\n`)
  }

  const agent = await Agent.create(undefined, { userDir, env: {} })
  const stream = async () => {
    const session = agent.session(workspace, { ...open, model: scriptedModel([edit, 'done']) })
    for await (const _ of await session.stream('edit the file'));
    await session.close()
  }
  const program = async () => {
    const session = agent.session(workspace, { ...open, model: scriptedModel([]) })
    await session.program({
      source: `export default async (ctx) => ctx.tools.write({ file_path: 'a.txt', content: 'new' })`,
    })
    await session.close()
  }
  const resume = async () => {
    const store = new MemorySessionStore()
    const id = 'hops'
    const first = agent.session(workspace, {
      ...open,
      sessionId: id,
      sessionStore: store,
      model: scriptedModel([look, 'done']),
    })
    await first.send('edit the file')
    const { records } = await store.read(id)
    await first.close()
    const last = records.findLastIndex((/** @type {{ record: { type: string } }} */ one) =>
      JSON.stringify(one).includes('"checkpoint"'),
    )
    const cut = new MemorySessionStore()
    const log = await cut.open(id, { holder: 'hops', now: () => 0 })
    await log.append(records.slice(0, last + 1))
    await log.close()
    const runId = /"runId":"([^"]+)"/.exec(JSON.stringify(records[last]))?.[1] ?? ''
    const session = agent.session(workspace, {
      ...open,
      sessionId: id,
      sessionStore: cut,
      model: scriptedModel([edit, 'done']),
    })
    await session.resumeRun(runId)
    await session.close()
  }
  const command = async () => {
    const server = await startModelServer([edit, 'done'])
    const { runProcess } = await load('cli/command-process.js')
    const config = join(base, 'model.acl')
    writeFileSync(
      config,
      `default_model = "openai/counted"
       providers "openai" { api_key = "none", base_url = "${server.url}/v1", models "counted" {} }`,
    )
    process.chdir(workspace)
    process.env['CAPSTAN_HOME'] = userDir
    await runProcess(['run', '--config', config, '--sandbox', 'off', '--allow', 'edit', 'edit the file'])
    await server.close()
  }

  try {
    await walk('session.stream to edit.execute', /^session\/.*:stream$/, 'toolbox/edit.ts:execute', stream)
    await walk('edit.execute to rename', /^toolbox\/edit\.ts:execute$/, undefined, stream)
    await walk(
      'session.program to the execute of an inner write',
      /^session\/.*:program$/,
      'toolbox/write.ts:execute',
      program,
    )
    await walk('session.program to rename', /^session\/.*:program$/, undefined, program)
    await walk('resumeRun to rename', /^session\/.*:resumeRun$/, undefined, resume)
    await walk('CLI prompt to rename', /^cli\/.*:runProcess$/, undefined, command)
  } finally {
    await agent.close()
    rmSync(base, { recursive: true, force: true })
  }
  console.log('| walk | frames | files | returns |\n|---|---|---|---|')
  for (const { name, count } of walks)
    console.log(`| ${name} | ${count.frames} | ${count.files} | ${count.returns} |`)
}

/** Frames, different files, and how often a walk comes back to a file it had left. @param {readonly string[]} labels */
function countOf(labels) {
  const files = labels.map((label) => label.slice(0, label.indexOf(':')))
  const seen = new Set()
  let returns = 0
  files.forEach((file, at) => {
    if (file !== files[at - 1] && seen.has(file)) returns++
    seen.add(file)
  })
  return { frames: labels.length, files: seen.size, returns }
}
