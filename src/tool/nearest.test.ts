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
  ])('finds what %s was meant to be', (name, known, expected) => {
    expect(nearestNames(name, known)).toEqual(expected)
  })

  it('does no work for names nobody would mistype', () => {
    expect(nearestNames('a'.repeat(1_000_000), ['read'])).toEqual([])
  })

  it('quotes lists as a sentence needs them', () => {
    expect(quoteNames(['a'])).toBe('"a"')
    expect(quoteNames(['a', 'b', 'c'])).toBe('"a", "b" or "c"')
    expect(quoteNames([])).toBe('')
  })
})
