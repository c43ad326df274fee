import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { publint } from 'publint'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildClone, copyRepository, isCloneCurrent, prepareClone } from '../../scripts/build.mjs'
import { installedPackages, installUserPackages } from '../../scripts/user-packages.mjs'
import { factor } from '../support/fault-factor.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { entries, packageJson } from './package-entries.js'
import { type Outcome, printed, root, run, runNode, runNpm, runTsc } from './run.js'

const timeout = 600_000
const folder = sharedDirectory()
/** The package alone, installed for a whole machine. A project there has nothing else. */
const prefix = join(folder, 'prefix')
const alone = join(prefix, process.platform === 'win32' ? '' : 'lib')
/** A user's project, with the package and zod. */
const project = join(folder, 'project')
const tarball = join(folder, `${packageJson.name}-${packageJson.version}.tgz`)

beforeAll(async () => {
  // With its scripts, as a release is packed: `prepack` builds what has changed.
  succeed(await runNpm(['pack', '--pack-destination', folder], { timeout }))
}, timeout)

describe('the published package', { timeout }, () => {
  it('is small', () => {
    // It was raised by 450 KB in all for the HTTP server and its client, the Agent Client Protocol, the Postgres store,
    // the cluster, telemetry, Landlock and workspace backends, most of which the library and the command both contain,
    // and for the inspector. A third is libraries that
    // would otherwise be installed next to it, and their licences; a third is the command, which starts sooner as
    // scripts of its own (docs/design/performance.md). Nothing is minified, so that errors and debuggers show readable
    // lines.
    expect(statSync(tarball).size).toBeLessThan(3_000 * 1024)
  })

  it('names no directory that it was built in, so that two builds are equal', async () => {
    const files = await readdir(join(root, 'dist'), { recursive: true })
    const scripts = files.filter((file) => file.endsWith('.js'))
    expect(scripts.length).toBeGreaterThan(100)
    const named = scripts.filter((file) =>
      readFileSync(join(root, 'dist', file), 'utf8').includes('.build/work'),
    )
    expect(named).toEqual([])
  })

  it('has nothing that publint warns about', async () => {
    const bytes = new Uint8Array(readFileSync(tarball)).buffer
    const { messages } = await publint({ level: 'warning', pack: { tarball: bytes } })
    expect(messages).toEqual([])
  })

  // `npm test` has the compiler find the types of every entry below. This asks a second judge, which takes longer.
  if (factor > 1)
    it('has types that every ES module resolution finds', async () => {
      await installUserPackages({ all: true })
      const checker = join(installedPackages, '@arethetypeswrong/cli/dist/index.js')
      // The types are in the package, so no other package is asked about them.
      succeed(await runNode([checker, tarball, '--profile', 'esm-only', '--no-definitely-typed']))
    })
})

describe('a project that installs the package alone', { timeout }, () => {
  beforeAll(async () => {
    mkdirSync(alone, { recursive: true })
    const options = ['--prefer-offline', '--no-audit', '--no-fund']
    succeed(await runNpm(['install', '--global', '--prefix', prefix, tarball, ...options], { timeout }))
    writeFileSync(join(alone, 'package.json'), '{ "type": "module" }\n')
  }, timeout)

  it('gets no zod, and can still create and call tools from JSON Schema', async () => {
    const modules = join(alone, 'node_modules')
    for (const place of [modules, join(modules, packageJson.name, 'node_modules')])
      expect(existsSync(join(place, 'zod'))).toBe(false)
    const script = `
      import { createJsonTool, createLexicalToolIndex, ToolSet } from 'capstan/tool'
      import 'capstan'
      import 'capstan/testing'

      const add = createJsonTool({
        name: 'add',
        description: 'Add two numbers.',
        parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
        execute: ({ a, b }) => a + b,
      })
      const index = await createLexicalToolIndex([add])
      const [best] = await index.search({ query: 'numbers', topK: 1 })
      console.log(await ToolSet.fromTools([add]).call('add', '{"a":1,"b":2}'), best.id)`
    expect(succeed(await runScript(alone, 'tool.mjs', script)).stdout).toBe('3 add\n')
  })

  it('is typed without zod', async () => {
    const program = `
      import { createJsonTool } from 'capstan'
      import 'capstan/testing'

      const add = createJsonTool({
        name: 'add',
        description: 'Add two numbers.',
        parameters: { type: 'object' },
        execute: ({ a, b }: { a: number; b: number }) => a + b,
      })
      export const sum: number = await add.call({ a: 1, b: 2 })
      // @ts-expect-error the arguments are those of the function
      await add.call({ a: 'one', b: 2 })`
    await typeCheck(alone, { module: 'nodenext', moduleResolution: 'nodenext' }, program)
  })
})

describe('a project that installs zod as well', { timeout }, () => {
  // npm installs it once more only in `npm run faults`. A copy of what it installed for the whole machine serves here.
  beforeAll(async () => {
    if (factor > 1) return install(project, tarball, 'zod')
    const modules = join(project, 'node_modules')
    cpSync(join(alone, 'node_modules', packageJson.name), join(modules, packageJson.name), {
      recursive: true,
    })
    cpSync(join(root, 'node_modules/zod'), join(modules, 'zod'), { recursive: true })
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }\n')
  }, timeout)

  it('gets only the files that are meant for users', async () => {
    const files = await filesBelow(join(project, 'node_modules', packageJson.name))
    expect(files.filter(isForeign)).toEqual([])
    expect(files).toEqual(expect.arrayContaining(entries.flatMap(({ script, types }) => [script, types])))
  })

  it('gets at most 25 packages, none of which runs a script on installation', () => {
    const packages = packagesBelow(project)
    expect(packages).toContain(join('node_modules', packageJson.name))
    expect(packages.length).toBeGreaterThan(5)
    expect(packages.length).toBeLessThanOrEqual(25)
    expect(packages.filter((path) => hasInstallScript(join(project, path)))).toEqual([])
  })

  it('imports every entry', async () => {
    const script = entries.map(({ specifier }) => `await import('${specifier}')`).join('\n')
    succeed(await runScript(project, 'entries.mjs', script))
  })

  it('creates a tool from a schema, shows it to a model and calls it', async () => {
    const script = `
      import { createTool, ToolSet } from 'capstan'
      import { checkToolContract } from 'capstan/testing'
      import { z } from 'zod'

      const add = createTool({
        name: 'add',
        description: 'Add two numbers.',
        input: z.object({ a: z.number(), b: z.number().default(1) }),
        output: z.number(),
        execute: ({ a, b }) => a + b,
      })
      const tools = ToolSet.fromTools([add])
      const [definition] = await tools.getToolDefinitions()
      const refused = await tools.call('add', '{"a":"one"}').catch((error) => error)
      console.log(JSON.stringify({
        required: definition.parameters.required,
        sum: await tools.call('add', '{"a":1,"b":2}'),
        refused: refused instanceof Error && refused.message.includes('a:'),
        wrongs: await checkToolContract(add, { valid: [{ a: 1 }], invalid: [{ a: 'one' }] }),
      }))`
    const { stdout } = succeed(await runScript(project, 'tool.mjs', script))
    expect(JSON.parse(stdout)).toEqual({ required: ['a'], sum: '3', refused: true, wrongs: [] })
  })

  // The server is for Node, and its declarations are too.
  const everyEntry = entries
    .filter(({ specifier }) => specifier !== 'capstan/server')
    .map(({ specifier }, at) => `export * as entry${at} from '${specifier}'`)
    .join('\n      ')

  // No types of Node and no skipped checks: the declarations must stand on the language and the web alone.
  it.each([
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ])('is typed with module $module, and wrong use of it does not compile', async (settings) => {
    // An error that is expected and does not come is itself an error, so this fails when the types turn into `any`.
    const program = `
      import { createTool, ToolSet, unionRequirements } from 'capstan'
      import { checkToolContract } from 'capstan/testing'
      import { type Envelope, type GovernedTool, isErrorEnvelope } from 'capstan/tool'
      import { z } from 'zod'
      ${everyEntry}

      const add = createTool({
        name: 'add',
        description: 'Add two numbers.',
        input: z.object({ a: z.number(), b: z.number().default(1) }),
        execute: ({ a, b }) => a + b,
      })
      export const sum: number = await add.call({ a: 1, b: 2 })
      export const kept: GovernedTool<{ a: number; b: number }, number> = add
      export const wrongs: string[] = await checkToolContract(add, { valid: [{ a: 1 }] })
      export const tools: ToolSet = ToolSet.fromTools([add])
      export const requires = unionRequirements(add.requires, { fs: { read: ['\${workspace}/**'] } })
      export const failed = (envelope: Envelope<number>): string =>
        isErrorEnvelope(envelope) ? envelope.error_text : String(envelope.data)

      // @ts-expect-error the arguments are those of the schema
      await add.call({ a: 'one', b: 2 })
      // @ts-expect-error the result is what the function returns
      export const text: string = await add.call({ a: 1, b: 2 })
      // @ts-expect-error a tool needs a description
      createTool({ name: 'bare', input: z.object({}), execute: () => 1 })
      // @ts-expect-error there is no such name
      import { createNothing } from 'capstan/tool'
      // @ts-expect-error what is not an entry cannot be imported
      import {} from 'capstan/dist/tool/json.js'`
    await typeCheck(project, settings, program)
  })

  it('is typed for the server too, with the types of Node', async () => {
    const program = `
      import { createServer } from 'capstan/server'

      export const handle = createServer
      // @ts-expect-error there is no such name
      import { createNothing } from 'capstan/server'`
    const types = { types: ['node'], typeRoots: [join(root, 'node_modules/@types')] }
    await typeCheck(project, { module: 'nodenext', moduleResolution: 'nodenext', ...types }, program)
  })
})

describe('a project that uses AI SDK 7', { timeout }, () => {
  it('installs the package next to it without a conflict of peer dependencies', async () => {
    const project = join(folder, 'with-ai-sdk-7')
    const { dependencies } = JSON.parse(
      readFileSync(join(root, 'test/ecosystem/packages/package.json'), 'utf8'),
    )
    const names = ['ai', '@ai-sdk/anthropic', '@ai-sdk/google', '@ai-sdk/openai', 'zod']
    // `npm run faults` asks npm, which takes longer: its answer follows from the ranges.
    for (const [name, range] of Object.entries(packageJson.peerDependencies ?? {}))
      if (names.includes(name)) expect(majorsOf(range)).toContain(majorsOf(dependencies[name])[0])
    if (factor === 1) return
    const packages = names.map((name) => `${name}@${dependencies[name]}`)
    // npm works out the whole tree and downloads none of it.
    await install(project, tarball, ...packages, '--package-lock-only', '--no-engine-strict')
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
    const copies = Object.keys(lock.packages).filter((path) => path.endsWith('/@ai-sdk/openai'))
    expect(copies).toEqual(['node_modules/@ai-sdk/openai'])
  })
})

describe('the command, installed globally into an empty directory', { timeout }, () => {
  const [home, work] = [join(folder, 'home'), join(folder, 'work')]
  const command = join(prefix, process.platform === 'win32' ? 'capstan.cmd' : 'bin/capstan')

  beforeAll(() => {
    for (const path of [home, work]) mkdirSync(path)
    writeFileSync(join(work, 'engine.js'), 'export const speed = 9\n')
  })

  it('prints its version', async () => {
    expect(succeed(await run(command, ['--version'])).stdout).toBe(`${packageJson.version}\n`)
  })

  it('completes a run, without a key and without a network', async () => {
    const env = { CAPSTAN_HOME: home, CAPSTAN_LOCAL_MODELS: 'off', CAPSTAN_MODEL: 'offline' }
    const asked = await run(command, ['run', 'Where is speed defined?'], { cwd: work, env })
    expect(succeed(asked).stdout).toContain('"speed" is in engine.js:1')
    const change = 'replace "speed = 9" by "speed = 12" in engine.js'
    const refused = await run(command, ['run', change], { cwd: work, env })
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("--allow 'edit(engine.js)'") })
    succeed(await run(command, ['run', '--allow', 'edit(engine.js)', change], { cwd: work, env }))
    expect(readFileSync(join(work, 'engine.js'), 'utf8')).toBe('export const speed = 12\n')
    const kept = succeed(await run(command, ['sessions'], { cwd: work, env })).stdout
    expect(kept.trimEnd().split('\n')).toHaveLength(3)
  })
})

describe('a project that installs the package from git', { timeout: 2 * timeout }, () => {
  // npm clones the repository, installs its dependencies, runs `prepare` and packs the clone.
  if (factor > 1)
    it('gets the files that are built from the sources, and nothing else', async () => {
      const [place, repository] = [join(folder, 'from-git'), join(folder, 'repository')]
      expect(copyRepository(repository)).toBe(true)
      await commitAll(repository)
      await install(place, `git+file://${repository}`)
      const files = await filesBelow(join(place, 'node_modules', packageJson.name))
      expect(files.filter(isForeign)).toEqual([])
      expect(files).toEqual(expect.arrayContaining(entries.flatMap(({ script, types }) => [script, types])))
      const script = entries.map(({ specifier }) => `await import('${specifier}')`).join('\n')
      succeed(await runScript(place, 'entries.mjs', script))
    })
  else
    it('gets the same files as from the registry: `prepare` builds them in a clone', async () => {
      const clone = await preparedClone()
      const installed = join(alone, 'node_modules', packageJson.name)
      const published = await filesBelow(installed)
      const differs = (file: string): boolean =>
        !existsSync(join(clone, file)) ||
        !readFileSync(join(clone, file)).equals(readFileSync(join(installed, file)))
      expect(published.filter(differs)).toEqual([])
      const built = (await filesBelow(join(clone, 'dist'))).map((file) => `dist/${file}`)
      expect(built.filter((file) => !published.includes(file))).toEqual([])
    })
})

describe('an installation of the dependencies in a clone', () => {
  it('builds nothing, unless npm prepares the clone for another project', async () => {
    const prepare = (from: string) => runNode(['scripts/prepare.mjs'], { env: { INIT_CWD: from }, timeout })
    expect(succeed(await prepare(root)).stdout).toBe('')
    expect(succeed(await prepare(join(root, 'src'))).stdout).toBe('')
  })
})

async function commitAll(directory: string): Promise<void> {
  const git = async (...args: string[]): Promise<Outcome> =>
    succeed(
      await run('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], { cwd: directory }),
    )
  await git('init', '--quiet')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'everything')
}

/** The clone in which `npm test` has built the package, or another where it was built otherwise. */
async function preparedClone(): Promise<string> {
  if (isCloneCurrent()) return buildClone
  const clone = join(folder, 'repository')
  expect(copyRepository(clone)).toBe(true)
  expect(await prepareClone(clone)).toBe(true)
  return clone
}

async function install(project: string, ...packages: string[]): Promise<void> {
  mkdirSync(project, { recursive: true })
  const manifest = join(project, 'package.json')
  if (!existsSync(manifest))
    writeFileSync(manifest, '{ "name": "project", "private": true, "type": "module" }\n')
  const options = ['--prefer-offline', '--no-audit', '--no-fund']
  succeed(await runNpm(['install', ...packages, ...options], { cwd: project, timeout: 2 * timeout }))
}

/** Of a range like `^3 || ^4`, or of a version. */
function majorsOf(range: string): string[] {
  return range.split('||').flatMap((part) => /\d+/.exec(part)?.[0] ?? [])
}

/** The directories of the packages that are installed below a directory. */
function packagesBelow(directory: string): string[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const manifest = /^(?:.+\/)?node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/
  return files.filter((file) => manifest.test(file.replaceAll(sep, '/'))).map(dirname)
}

/** Whether npm runs a program when it installs this package. */
function hasInstallScript(directory: string): boolean {
  const { scripts = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const hooks = ['preinstall', 'install', 'postinstall']
  return hooks.some((name) => Object.hasOwn(scripts, name)) || existsSync(join(directory, 'binding.gyp'))
}

/** What no user has a use for: tests, sources, and the rest of the repository. */
function isForeign(path: string): boolean {
  const published = /^(dist\/.+|docs\/.+|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/
  const source = path.endsWith('.ts') && !path.endsWith('.d.ts')
  return !published.test(path) || /\.test(-d)?\./.test(path) || source
}

/** The files of a package, without those of packages that are installed inside it. */
async function filesBelow(directory: string): Promise<string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile())
  return files
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((file) => !file.startsWith('node_modules/'))
}

function runScript(project: string, name: string, text: string): Promise<Outcome> {
  writeFileSync(join(project, name), text)
  return runNode([name], { cwd: project })
}

async function typeCheck(project: string, settings: Readonly<Record<string, unknown>>, program: string) {
  // The declarations of every package are checked. Those of the language and the web are the compiler's own.
  const checks = { strict: true, skipLibCheck: false, skipDefaultLibCheck: true }
  const options = { ...settings, ...checks, target: 'es2023', noEmit: true }
  writeFileSync(join(project, 'program.ts'), program)
  const config = JSON.stringify({ compilerOptions: options, files: ['program.ts'] })
  writeFileSync(join(project, 'tsconfig.json'), config)
  succeed(await runTsc(['-p', 'tsconfig.json'], { cwd: project }))
}

function succeed(outcome: Outcome): Outcome {
  expect(outcome.code, printed(outcome)).toBe(0)
  return outcome
}
