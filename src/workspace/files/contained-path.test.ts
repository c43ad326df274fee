import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { CapstanError } from '../../tool/errors.js'
import { type Area, containPath, type Root, rootOfReal } from './contained-path.js'
import { linuxStyle, macStyle, type PathStyle, windowsStyle } from './path-style.js'

function area(style: PathStyle, workspace: string, others: readonly Root[] = []): Area {
  const root: Root = { kind: 'workspace', path: workspace, given: workspace }
  return { style, workspace: root, roots: () => [root, ...others] }
}

function outcome(at: Area, path: string): string {
  try {
    return containPath(at, path).absolute
  } catch (thrown) {
    if (thrown instanceof CapstanError) return thrown.code
    throw thrown
  }
}

describe('containPath', () => {
  it.each([
    ['.', '/w'],
    ['./', '/w'],
    ['a', '/w/a'],
    ['a/./b//c/', '/w/a/b/c'],
    ['/w', '/w'],
    ['/w/a/..', '/w'],
    ['../w/a', '/w/a'],
    ['a\\b', '/w/a\\b'],
    ['C:\\x', '/w/C:\\x'],
    ['~', '/w/~'],
    ['...', '/w/...'],
    ['..', 'path_outside'],
    ['a/../../b', 'path_outside'],
    ['/', 'path_outside'],
    ['/w-evil', 'path_outside'],
    ['/W/a', 'path_outside'],
    ['//w/../etc', 'path_outside'],
    ['', 'path_invalid'],
    ['a\0', 'path_invalid'],
    ['a\ud800', 'path_invalid'],
    ['x'.repeat(256), 'path_invalid'],
    ['x'.repeat(255), `/w/${'x'.repeat(255)}`],
    ['é'.repeat(128), 'path_invalid'],
    [Array.from({ length: 2100 }, () => 'a').join('/'), 'path_invalid'],
  ])('on Linux %j is %j', (path, expected) => {
    expect(outcome(area(linuxStyle, '/w'), path)).toBe(expected)
  })

  it.each([
    ['/W/a', '/w/a'],
    ['/W-evil/a', 'path_outside'],
    ['/w/A', '/w/A'],
  ])('where case is folded %j is %j', (path, expected) => {
    expect(outcome(area(macStyle, '/w'), path)).toBe(expected)
  })

  it.each([
    ['a/b\\c', 'C:\\w\\a\\b\\c'],
    ['c:/W/a', 'C:\\w\\a'],
    ['..\\x', 'path_outside'],
    ['D:\\w\\a', 'path_outside'],
    ['C:\\w-evil', 'path_outside'],
    ['\\\\server\\share', 'path_invalid'],
    ['\\\\?\\C:\\w\\a', 'path_invalid'],
    ['/w/a', 'path_invalid'],
    ['C:a', 'path_invalid'],
    ['a:stream', 'path_invalid'],
    ['.git::$INDEX_ALLOCATION/x', 'path_invalid'],
    ['dots.', 'path_invalid'],
    ['space ', 'path_invalid'],
    ['NUL', 'path_invalid'],
    ['con.txt', 'path_invalid'],
    ['console.txt', 'C:\\w\\console.txt'],
  ])('on Windows %j is %j', (path, expected) => {
    expect(outcome(area(windowsStyle, 'C:\\w'), path)).toBe(expected)
  })

  it('accepts the spelling of the root that the host used, and returns the real one', () => {
    const linked: Root = { kind: 'additional', path: '/private/tmp/x', given: '/tmp/x' }
    const at = area(linuxStyle, '/w', [linked])
    expect(outcome(at, '/tmp/x/a')).toBe('/private/tmp/x/a')
    expect(rootOfReal(at, '/private/tmp/x/a')?.names).toEqual(['a'])
    // A real path below the given spelling means that the link was replaced by a directory: not the root any more.
    expect(rootOfReal(at, '/tmp/x/a')).toBeUndefined()
  })

  it('prefers scratch, then the outermost root', () => {
    const roots: Root[] = [
      { kind: 'additional', path: '/w/.git/inner', given: '/w/.git/inner' },
      { kind: 'scratch', path: '/w/.capstan/s', given: '/w/.capstan/s' },
    ]
    const at = area(linuxStyle, '/w', roots)
    expect(containPath(at, '.git/inner/x').names).toEqual(['.git', 'inner', 'x'])
    expect(containPath(at, '/w/.capstan/s/x').names).toEqual(['x'])
  })

  it('never returns a path outside, whatever the text', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '', 'w', 'w-evil', 'a', '\u2025', '\uff0e\uff0e'),
      fc.string({ maxLength: 4, unit: anyCharacter }),
    )
    const paths = fc.tuple(fc.constantFrom('', '/', '/w/', '/w', '//'), fc.array(piece, { maxLength: 8 }))
    fc.assert(
      fc.property(paths, ([start, pieces]) => {
        const path = start + pieces.join('/')
        const result = outcome(area(linuxStyle, '/w'), path)
        const truth = posix.resolve('/w', path)
        if (result.startsWith('/')) {
          expect(result).toBe(truth)
          expect(result === '/w' || result.startsWith('/w/')).toBe(true)
        } else if (result === 'path_outside') {
          expect(truth === '/w' || truth.startsWith('/w/')).toBe(false)
        }
      }),
      { numRuns: propertyRuns(5_000) },
    )
  })
})
