import { describe, expect, it } from 'vitest'
import { nearestNames, quoteNames } from './nearest.js'

describe('nearestNames', () => {
  it.each([
    ['wrokspace', ['workspace', 'scratch'], ['workspace']],
    ['file_pth', ['file_path', 'limit'], ['file_path']],
    ['filePath', ['file_path'], ['file_path']],
    ['WEB-FETCH', ['web_search', 'web_fetch'], ['web_fetch']],
    ['x', ['read'], []],
    ['', ['read'], []],
  ])('finds the name intended by %s', (name, known, expected) => {
    expect(nearestNames(name, known)).toEqual(expected)
  })

  it('skips names that are too long to be a typo', () => {
    expect(nearestNames('a'.repeat(1_000_000), ['read'])).toEqual([])
  })

  it('quotes a list as part of a sentence', () => {
    expect(quoteNames(['a'])).toBe('"a"')
    expect(quoteNames(['a', 'b', 'c'])).toBe('"a", "b" or "c"')
    expect(quoteNames([])).toBe('')
  })
})
