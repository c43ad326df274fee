import { spawn } from 'node:child_process'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCompileCache } from '../../src/cli/code/compile-cache.js'
import { root as packageRoot } from '../house/run.js'
import { openPlace, type Place } from './drive.js'

/** What the built command loads before the model is asked, and what it keeps of it for the next time. */
const command = join(packageRoot, 'dist/cli')

describe('the built command', () => {
  it('loads few modules for one prompt', async () => {
    const { place, run } = await opened()
    expect(await run()).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' })
    const loaded = [...readCompileCache(await cacheFile(place)).keys()]
    // What is for the time after the answer, if at all. If this fails: something that every run does began to use one
    // of them. Do it later, or take the module out of its group in scripts/bundle.mjs (`laterForCommand`).
    const later = /^(calls|history|memory|processes|search|servers|shell-rules|sqlite|subagents|verify)-/
    expect(loaded.filter((name) => later.test(name))).toEqual([])
    expect(loaded.length).toBeLessThanOrEqual(10)
    const sizes = await Promise.all(loaded.map(async (name) => (await stat(join(command, name))).size))
    // 10 KB of it are the catalogue of models, which every run looks its model up in.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(940 * 1024)
  })

  it('writes the compile cache of a command once, and works the same with it', async () => {
    const { place, run } = await opened()
    const first = await run()
    const file = await cacheFile(place)
    const { mtimeMs, mode } = await stat(file)
    expect(mode & 0o777).toBe(0o600)
    expect(await run()).toEqual(first)
    expect((await stat(file)).mtimeMs).toBe(mtimeMs)
  })

  it('works with a damaged compile cache, and repairs it', async () => {
    const { place, run } = await opened()
    const first = await run()
    const file = await cacheFile(place)
    const names = [...readCompileCache(file).keys()]
    const damaged = await readFile(file)
    const middle = Math.floor(damaged.length / 2)
    damaged.fill(0xff, middle, middle + 1_000)
    await writeFile(file, damaged)
    expect(await run()).toEqual(first)
    expect([...readCompileCache(file).keys()]).toEqual(names)
  })

  it('works where no compile cache can be written', async () => {
    const { place, run } = await opened()
    await writeFile(join(place.home, 'cache'), 'not a directory')
    expect(await run()).toEqual({ code: 0, stdout: 'Done.\n', stderr: '' })
    expect(await readFile(join(place.home, 'cache'), 'utf8')).toBe('not a directory')
  })

  it("writes no compile cache when Node's variable turns it off, nor for a failed command", async () => {
    const { place, run } = await opened()
    await run({ NODE_DISABLE_COMPILE_CACHE: '1' })
    expect((await run({}, ['--no-such-option'])).code).toBe(2)
    expect(await readdir(place.home)).not.toContain('cache')
  })
})

async function opened() {
  const place = await openPlace()
  // Without the cache that other tests share.
  await rm(join(place.home, 'cache'))
  const { flags } = await place.model(() => 'Done.')
  const run = (env: Readonly<Record<string, string>> = {}, more: readonly string[] = []) =>
    ended(place, ['run', ...flags, '--no-stdin', ...more, 'Go'], env)
  return { place, run }
}

function ended(place: Place, args: readonly string[], env: Readonly<Record<string, string>>) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const child = spawn(process.execPath, [join(command, 'main.js'), ...args], {
      cwd: place.root,
      env: { ...place.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

async function cacheFile({ home }: Place): Promise<string> {
  const [versions = ''] = await readdir(join(home, 'cache'))
  return join(home, 'cache', versions, 'run.code')
}
