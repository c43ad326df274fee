import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isTest, listFiles } from '../house/source-tree.js'
import { rowsBetween } from './page-table.js'

const page = readFileSync('docs/security.md', 'utf8')
const groups = rowsBetween(page, 'groups').map(([range = '', , folders = '']) => {
  const [first = 0, last = 0] = [...range.matchAll(/SEC-(\d+)/g)].map(([, number]) => Number(number))
  return { range, first, last, folders: [...folders.matchAll(/`([^`]+)`/g)].map(([, folder = '']) => folder) }
})

describe('the page about security', () => {
  it.each(groups)('names for $range folders whose tests name such attacks', ({ first, last, folders }) => {
    expect(folders).not.toEqual([])
    expect(folders.filter((folder) => !existsSync(folder))).toEqual([])
    const numbers = folders.flatMap(numbersIn)
    expect(numbers.filter((number) => number >= first && number <= last)).not.toEqual([])
  })

  it('names an existing test for every promise', () => {
    const promises = rowsBetween(page, 'promises')
    expect(promises.length).toBeGreaterThan(20)
    for (const [area = '', , tests = ''] of promises) {
      const paths = [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
      expect(paths, area).not.toEqual([])
      expect(
        paths.filter((path) => !existsSync(path)),
        area,
      ).toEqual([])
    }
  })

  it('has a group for every number that a test names', () => {
    const named = new Set(['src', 'test'].flatMap(numbersIn))
    expect(
      [...named].filter((each) => !groups.some(({ first, last }) => each >= first && each <= last)),
    ).toEqual([])
  })
})

function numbersIn(folder: string): number[] {
  return listFiles(folder, /\.ts$/)
    .filter((file) => isTest(file) || file.startsWith('test/'))
    .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/\bSEC-(\d{3})\b/g)])
    .map(([, number]) => Number(number))
}
