import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { sharedDirectory } from '../support/temporary-directory.js'
import { packageJson } from './package-entries.js'
import { printed, root, runNode } from './run.js'

/** Generous: a busy machine takes long to start Node. */
const timeout = 240_000
const folder = sharedDirectory()

const openSession = `
  const { Agent } = await import('capstan')
  const agent = await Agent.create(
    { defaultModel: 'host/m', providers: { host: { baseUrl: 'http://127.0.0.1:9/v1', models: { m: {} } } } },
    { userDir: ${JSON.stringify(join(folder, 'user'))} },
  )
  const session = agent.session(${JSON.stringify(folder)})`

describe('a program that opens a session', { timeout }, () => {
  it('loads the first two stages of the library, and nothing that later ones need', async () => {
    const files = await loadedFiles(openSession)
    // If this fails, something that every session does began to use another module. Do it with the first use, or run
    // `node scripts/record-load-stages.mjs` after a build.
    expect(files.map(stageOf)).toEqual(
      expect.arrayContaining(['scripts.cjs', 'index-entry.cjs', 'on-import', 'on-session']),
    )
    const others = /^(?:scripts|index-entry|program-entry)\.cjs$|^(?:on-import|on-session|rolldown-runtime)$/
    expect(files.map(stageOf).filter((name) => !others.test(name))).toEqual([])
    expect(sizeOf(files)).toBeLessThan(700 * 1024)
  })

  it('loads no package, and of Node no HTTP, no processes, no workers and no cryptography', async () => {
    const { packages, builtins } = await loadedModules(openSession)
    expect(packages).toEqual([])
    const heavy = /^(?:https?|child_process|worker_threads|crypto|net|tls|dns|sqlite)$/
    expect(builtins.filter((name) => heavy.test(name))).toEqual([])
  })

  it('loads only the first stage with the import', async () => {
    const files = await loadedFiles(`await import('capstan')`)
    expect(files.map(stageOf).sort()).toEqual(['index-entry.cjs', 'on-import', 'scripts.cjs'])
    expect(sizeOf(files)).toBeLessThan(190 * 1024)
  })
})

describe('a bundler', { timeout }, () => {
  it('bundles a program and the library into files that run where nothing is installed', async () => {
    const entry = join(root, '.build', `bundled-${process.pid}.mjs`)
    writeFileSync(
      entry,
      `import { Agent, createJsonTool } from 'capstan'
      import { ToolSet } from 'capstan/tool'
      const echo = createJsonTool({ name: 'echo', description: 'Echo.', parameters: { type: 'object' }, execute: () => 'called' })
      const agent = await Agent.create({}, { userDir: ${JSON.stringify(join(folder, 'bundled-user'))} })
      const session = agent.session(${JSON.stringify(folder)}, { tools: [echo] })
      const { exitCode, output } = await session.tool('bash', { command: 'echo from the shell' })
      console.log(await ToolSet.fromTools([echo]).call('echo', '{}'), exitCode, String(output).trim())
      await agent.close()`,
    )
    const build = await rolldown({
      input: entry,
      platform: 'node',
      external: [/^node:/, ...Object.keys(packageJson.peerDependencies ?? {})],
      onLog: () => undefined,
    })
    const { output } = await build.write({ dir: join(folder, 'bundle'), format: 'esm' })
    await build.close()
    const outcome = await runNode([join(folder, 'bundle', output[0].fileName)], { cwd: folder })
    expect(printed(outcome)).toBe('exit code 0\ncalled 0 from the shell\n')
  })
})

/** Scripts of the library that a program has loaded. */
async function loadedFiles(program: string): Promise<string[]> {
  return (await loadedModules(program)).files
}

/** Two tests look at the same program. */
const loaded = new Map<string, ReturnType<typeof loadModules>>()

function loadedModules(program: string): ReturnType<typeof loadModules> {
  const known = loaded.get(program) ?? loadModules(program)
  loaded.set(program, known)
  return known
}

async function loadModules(program: string) {
  const script = `
    import { createRequire } from 'node:module'
    const before = new Set(process.moduleLoadList)
    ${program}
    console.log(JSON.stringify({
      files: Object.keys(createRequire(${JSON.stringify(join(root, 'package.json'))}).cache),
      builtins: process.moduleLoadList.filter((name) => !before.has(name)).map((name) => name.replace(/^\\w+ /, '')),
    }))
    process.exit()`
  const outcome = await runNode(['--input-type=module', '--eval', script])
  expect(outcome.code, printed(outcome)).toBe(0)
  const { files, builtins } = JSON.parse(outcome.stdout) as { files: string[]; builtins: string[] }
  return { files, builtins, packages: files.filter((file) => file.includes('node_modules')) }
}

function sizeOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + readFileSync(file).length, 0)
}

/** The name of a chunk without its hash. */
function stageOf(file: string): string {
  return basename(file).replace(/-[\w-]{8}\.cjs$/, '')
}
