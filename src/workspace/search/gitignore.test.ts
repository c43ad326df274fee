import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { parseIgnoreRules } from './gitignore.js'

function ignores(text: string, path: string, isDirectory = false): boolean {
  const fitting = parseIgnoreRules(text).filter(
    (rule) => (isDirectory || !rule.onlyDirectories) && rule.matches(path),
  )
  const last = fitting.at(-1)
  return last !== undefined && !last.keeps
}

describe('parseIgnoreRules', () => {
  it.each([
    ['*.log', 'a/b.log', true],
    ['/x', 'a/x', false],
    ['/x', 'x', true],
    ['a/b', 'c/a/b', false],
    ['# *.log', 'a.log', false],
    ['\\#x', '#x', true],
    ['\\!x', '!x', true],
    ['*.log\n!a.log', 'a.log', false],
    ['!a.log\n*.log', 'a.log', true],
    ['x  ', 'x', true],
    ['x\\ ', 'x ', true],
    ['x\r\ny\r\n', 'x', true],
    ['', 'x', false],
    ['/', 'x', false],
    ['../x', 'x', false],
    ['\uFEFFx', 'x', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'a', false],
    ['**/foo', 'foo', true],
  ])('%j ignores the file %j: %s', (text, path, expected) => {
    expect(ignores(text, path)).toBe(expected)
  })

  it('applies rules for directories only to directories', () => {
    expect(ignores('build/', 'build', true)).toBe(true)
    expect(ignores('build/', 'build')).toBe(false)
    expect(ignores('build/', 'a/build', true)).toBe(true)
  })

  it('agrees with git', () => {
    const place = temporaryDirectory()
    const run = (args: string[], input?: string) =>
      execFileSync('git', args, { cwd: place, input, stdio: ['pipe', 'pipe', 'ignore'], encoding: 'utf8' })
    run(['init', '-q'])
    mkdirSync(join(place, '.git/info'), { recursive: true })
    const line = fc.constantFrom(
      ...[
        '*.log',
        '!a.log',
        '/a',
        'b',
        'a/*',
        '!a/b',
        '**/c',
        'a/**',
        '[ab]',
        '[!a]',
        'a?',
        '\\a',
        'a/**/c',
        '!*',
        '*',
      ],
    )
    const files = ['a', 'b', 'c', 'a.log', 'b.log', 'ab', 'd']
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
        writeFileSync(join(place, '.gitignore'), lines.join('\n'))
        // Only names at the top: deeper ones also depend on the directories above them, which the walk covers.
        let listed = ''
        try {
          listed = run(['check-ignore', '--no-index', '--stdin'], files.join('\n'))
        } catch {
          listed = ''
        }
        const ours = files.filter((file) => ignores(lines.join('\n'), file))
        expect(ours).toEqual(listed.split('\n').filter((each) => each !== ''))
      }),
      { numRuns: propertyRuns(60) },
    )
  })
})
