import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RuntimeSearch } from '../../../src/tool/runtime.js'
import { createFallbackSearch } from '../../../src/workspace/search/fallback-search.js'
import { createLocalSearch } from '../../../src/workspace/search/index.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'

let place = ''
let root = ''
const canary = 'canary-1f9c'
beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'W')
  write('W/a.txt', 'plain text\n')
  write('outside/secret.txt', `${canary}\n`)
})
afterEach(() => {
  vi.unstubAllEnvs()
})
function write(path: string, content: string): void {
  mkdirSync(dirname(join(place, path)), { recursive: true })
  writeFileSync(join(place, path), content)
}

type Make = (permit?: (path: string) => string | undefined, deadlineMs?: number) => RuntimeSearch
const ripgrep: Make = (permit = () => undefined, deadlineMs = 120_000) =>
  createLocalSearch({ root, permit, deadlineMs })
const fallback: Make = (permit = () => undefined, deadlineMs = 120_000) =>
  createFallbackSearch({ root, permit, deadlineMs })

async function everything(search: RuntimeSearch): Promise<string> {
  const answers = await Promise.all([
    search.grep({ pattern: '.', limit: 1_000, before: 3, after: 3 }),
    search.grep({ pattern: '.', limit: 1_000, mode: 'files' }),
    search.grep({ pattern: '.', limit: 1_000, mode: 'count' }),
    search.glob({ pattern: '**', limit: 1_000 }),
    search.glob({ pattern: '**', limit: 1_000, order: 'newest' }),
  ])
  return JSON.stringify(answers)
}

describe.each([
  ['ripgrep', ripgrep],
  ['the fallback', fallback],
])('SEC-025: %s', (_name, make) => {
  it('does not follow links, to files, to directories, or in loops', async () => {
    symlinkSync(join(place, 'outside'), join(root, 'directory-link'))
    symlinkSync(join(place, 'outside/secret.txt'), join(root, 'file-link'))
    symlinkSync(root, join(root, 'circle'))
    const all = await everything(make())
    expect(all).toContain('a.txt')
    expect(all).not.toContain(canary)
    expect(all).not.toContain('link')
    expect(all).not.toContain('circle')
  })

  it('keeps denied files out of every answer, and out of the counts', async () => {
    write('W/.env', `TOKEN=${canary}\n`)
    write('W/keys/deep/id_rsa', `${canary}\n`)
    write('W/b.txt', 'plain\n')
    const asked: string[] = []
    const search = make((path) => {
      asked.push(path)
      return path === join(root, '.env') || path.startsWith(join(root, 'keys/'))
        ? 'denied by a rule'
        : undefined
    })
    const all = await everything(search)
    expect(all).toContain('b.txt')
    expect(all).not.toContain(canary)
    expect(all).not.toContain('.env')
    expect(all).not.toContain('keys')
    expect(await search.grep({ pattern: canary, limit: 9 })).toMatchObject({ matches: 0, truncated: false })
    expect(await search.glob({ pattern: '*', limit: 1 })).toMatchObject({ total: 2 })
    expect(asked.every((path) => path.startsWith(`${root}/`))).toBe(true)
    await expect(search.grep({ pattern: 'x', path: '.env', limit: 9 })).rejects.toThrow('denied by a rule')
  })

  it('does not hang on a pipe in the tree', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')])
    expect(await everything(make())).not.toContain('pipe')
  })

  it('reads no options from patterns, globs and paths', async () => {
    write('W/--pre=sh', 'x\n')
    const search = make()
    for (const pattern of ['--pre=touch pwned', '--files', '-f/etc/passwd', '--follow']) {
      expect(await search.grep({ pattern, limit: 9 })).toMatchObject({ matches: 0 })
      expect(await search.glob({ pattern, limit: 9 })).toMatchObject({ total: 0 })
    }
    const named = await search.grep({ pattern: 'x', path: '--pre=sh', limit: 9 })
    expect(named.lines.map(({ path }) => path)).toEqual(['--pre=sh'])
  })

  it('reads nothing from the environment or the user’s settings', async () => {
    write('home/.config/git/ignore', 'a.txt\n')
    write('rgrc', '--follow\n--files-with-matches\n--pre=sh\n')
    vi.stubEnv('RIPGREP_CONFIG_PATH', join(place, 'rgrc'))
    vi.stubEnv('HOME', join(place, 'home'))
    vi.stubEnv('XDG_CONFIG_HOME', join(place, 'home/.config'))
    expect(await make().grep({ pattern: 'plain', limit: 9 })).toMatchObject({ matches: 1 })
  })
})

describe('SEC-023: patterns that would run forever', () => {
  it('end at once with ripgrep', async () => {
    write('W/line.txt', `${'a'.repeat(30)}!\n`)
    const outcome = await ripgrep().grep({ pattern: '(a+)+$', limit: 9 })
    expect(outcome).toMatchObject({ matches: 0, truncated: false })
  })

  it('end at the deadline in the fallback, without blocking the main thread', async () => {
    write('W/line.txt', `${'a'.repeat(40)}!\n`)
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 10)
    const outcome = await fallback(undefined, 400).grep({ pattern: '(a+)+$', limit: 9 })
    clearInterval(timer)
    expect(outcome.incomplete).toContain('400 ms')
    expect(outcome.truncated).toBe(true)
    // A thread that is blocked has one turn at most, after the answer.
    expect(turns).toBeGreaterThan(1)
  })

  it('are cancelled with their caller', async () => {
    write('W/line.txt', `${'a'.repeat(40)}!\n`)
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    const outcome = await fallback().grep({ pattern: '(a+)+$', limit: 9, signal: controller.signal })
    expect(outcome.incomplete).toContain('stopped')
  })
})

describe('SEC-022: files that are too large', () => {
  // Apart: ripgrep ends with enough matches, and would never print the long line.
  it.each([
    // Matches once in the line: ripgrep itself takes half a gigabyte to count the matches of a letter in it.
    {
      what: 'an endless line',
      make: () => Buffer.alloc(30_000_000, 'x'),
      pattern: '^x',
      expected: { matches: 1, truncated: false },
      lines: 1,
    },
    {
      what: 'endless matches',
      make: () => 'x\n'.repeat(90_000),
      pattern: 'x',
      expected: { truncated: true },
      lines: 10,
    },
  ])('do not fill memory: $what', async ({ make, pattern, expected, lines }) => {
    writeFileSync(join(root, 'large'), make())
    const before = process.memoryUsage.rss()
    let most = before
    const look = (): void => {
      most = Math.max(most, process.memoryUsage.rss())
    }
    const timer = setInterval(look, 1)
    const outcome = await ripgrep().grep({ pattern, limit: 10 })
    clearInterval(timer)
    look()
    expect(outcome).toMatchObject(expected)
    expect(outcome.lines.length).toBe(lines)
    expect(most - before).toBeLessThan(80_000_000)
  })
})
