import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '../..')
let folder = ''
let bundled = ''

beforeAll(async () => {
  const cache = join(repository, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'capstan-program-'))
  bundled = join(folder, 'program.mjs')
  const build = await rolldown({
    input: join(import.meta.dirname, 'index.ts'),
    platform: 'node',
    external: (id) => id.startsWith('node:') || id.startsWith('quickjs-wasi') || id.startsWith('@cfworker'),
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  await build.write({ file: bundled, format: 'esm', codeSplitting: false })
  await build.write({ dir: join(folder, 'split'), format: 'esm' })
  await build.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The output of a separate process that uses the bundled package, and how it ended. */
function host(body: string, file = bundled) {
  const text = `import { createProgramMachine } from ${JSON.stringify(pathToFileURL(file).href)}
    const machine = createProgramMachine()
    const host = { call: async ({ args }) => ({ type: 'output', data: args, metadata: { duration_ms: 0 } }) }
    const run = (source, language) => machine.run({ source, language, host, startedAt: 0 })
    ${body}`
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--no-warnings', '-e', text],
    { timeout: 120_000, encoding: 'utf8', env: {} },
  )
  return { status, signal, stdout: stdout.trim(), stderr: stderr.trim() }
}

const clean = { status: 0, signal: null, stderr: '' }

describe('the bundled machine', () => {
  /** Most of the time of a host is its start: the tests of programs that need nothing else share one. */
  let shared: ReturnType<typeof host>
  let outcomes: readonly Record<string, unknown>[]
  beforeAll(() => {
    shared = host(`const outcomes = [
        await run('export default async (ctx) => (await ctx.tool("echo", { a: [1] })).output'),
        await run('export default (): number => 1 as number', 'typescript'),
        await run('export default () => { console.log("hidden"); console.error("hidden"); return [typeof process, typeof env] }'),
      ]
      console.log(JSON.stringify(outcomes))`)
    outcomes = shared.stdout.startsWith('[') ? JSON.parse(shared.stdout) : []
  })

  it('runs programs, and lets Node exit by itself with unused threads', () => {
    expect(shared).toMatchObject(clean)
    expect(outcomes[0]).toMatchObject({ ok: true, result: '{"a":[1]}' })
  })

  it('keeps Node alive for a program that is still running, and exits when it is closed', () => {
    const ended = host(`run('export default () => sleep(100)').then(async ({ ok }) => {
      await machine.close()
      console.log('ended', ok)
    })`)
    expect(ended).toMatchObject({ ...clean, stdout: 'ended true' })
  })

  it('removes types with the library in the package, in a file that is loaded on use', () => {
    const body = `console.log(JSON.stringify(await run('export default (): number => 1 as number', 'typescript')))`
    const split = host(body, join(folder, 'split', 'index.js'))
    expect(split).toMatchObject(clean)
    expect(JSON.parse(split.stdout)).toMatchObject({ ok: true, result: 1 })
    expect(readFileSync(join(folder, 'split', 'index.js'), 'utf8')).not.toContain('jsxPragma')
    // A bundle in one file does not have it, and the error says so.
    expect(outcomes[1]).toMatchObject({ ok: false })
    expect(JSON.stringify(outcomes[1])).toContain('leave capstan out of your bundle')
  })

  it('does not block the exit of the host while a script is busy', () => {
    const ended = host(`run('export default () => { for (;;); }'); setTimeout(() => process.exit(0), 300)`)
    expect(ended).toMatchObject(clean)
  })

  it('writes nothing of a script to the host, and gives it nothing of the environment', () => {
    expect(shared).toMatchObject({ ...clean, stdout: expect.stringMatching(/^\[\{.*\}\]$/) })
    expect(outcomes[2]).toMatchObject({ ok: true, result: ['undefined', 'undefined'] })
  })
})
