import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nestedRepositories } from './nested-repositories.js'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-nested-')))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(root, { recursive: true, force: true })
})

const limits = { entries: 20_000, levels: 4, ms: 1000, repositories: 64 }
function repository(name: string): string {
  mkdirSync(join(root, name, '.git'), { recursive: true })
  return join(root, name)
}

describe('nestedRepositories', () => {
  it('finds them four levels down, not the root, nor behind links or in node_modules', () => {
    repository('.')
    const found = [repository('a'), repository('a/b'), repository('a/b/c/d')]
    repository('a/b/c/d/e')
    repository('node_modules/x')
    symlinkSync('a', join(root, 'link'))
    expect(nestedRepositories(root, limits)()).toEqual(found)
  })

  it('stops at each limit, the nearest first', () => {
    for (let count = 0; count < 30; count++) repository(`many/${count}`)
    const near = repository('near')
    expect(nestedRepositories(root, { ...limits, repositories: 1 })()).toEqual([near])
    expect(nestedRepositories(root, { ...limits, entries: 2 })()).toEqual([])
    expect(nestedRepositories(root, { ...limits, ms: -1 })()).toEqual([])
  })

  it('keeps what it knows, whatever is made later to push it out, until it is gone', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    const first = repository('z/first')
    const find = nestedRepositories(root, { ...limits, repositories: 2 })
    expect(find()).toEqual([first])
    const later = repository('a')
    repository('b')
    now.mockReturnValue(60_000)
    expect(find()).toHaveLength(2)
    expect(find()[0]).toBe(first)
    rmSync(first, { recursive: true })
    expect(find()).not.toContain(first)
    expect(find().length).toBeGreaterThan(0)
    expect(later).toContain(root)
  })

  it('looks for a twentieth of the time at most', () => {
    let time = 0
    // Each look at the clock takes a millisecond.
    const now = vi.spyOn(performance, 'now').mockImplementation(() => time++)
    const find = nestedRepositories(root, limits)
    find()
    const spent = time - 1
    const made = repository('a')
    expect(find()).toEqual([])
    time += spent * 20
    expect(find()).toEqual([made])
    expect(now).toHaveBeenCalled()
  })
})
