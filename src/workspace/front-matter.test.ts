import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { readFrontMatter } from './front-matter.js'

describe('the front matter of a Markdown file', () => {
  it.each([
    ['plain', '---\na: 1\n---\nbody\n', { a: 1 }, 'body\n'],
    [
      'with the line ends of Windows and a byte order mark',
      '\ufeff---\r\na: 1\r\n---\r\nbody\r\n',
      { a: 1 },
      'body\r\n',
    ],
    ['empty', '---\n---\nbody', {}, 'body'],
    ['without a body', '---\na: 1\n---', { a: 1 }, ''],
    ['with a rule in the body', '---\na: 1\n---\nx\n---\ny', { a: 1 }, 'x\n---\ny'],
    ['with dashes in a value', '---\na: x --- y\nb: |\n  ---\n---\nz', { a: 'x --- y', b: '---\n' }, 'z'],
    ['missing', 'body\n---\na: 1\n---\n', {}, 'body\n---\na: 1\n---\n'],
    ['never closed', '---\na: 1\n', {}, '---\na: 1\n'],
    ['in another language', '---js\nprocess.exit()\n---\nx', {}, '---js\nprocess.exit()\n---\nx'],
  ])('is parsed: %s', (_, text, fields, body) => {
    expect(readFrontMatter(text)).toMatchObject({ fields, body })
  })

  it('is reported with the line that cannot be parsed', () => {
    expect(() => readFrontMatter('---\nname: x\nname: y\n---\n')).toThrow(
      'line 3: the key "name" occurs twice',
    )
    expect(readFrontMatter('---\nname: x\n\ntags: []\n---\n').lines.get('tags')).toBe(4)
  })

  it('is optional, and a text without it does not change', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 40 }).filter((text) => !text.startsWith('---')),
        (text) => {
          expect(readFrontMatter(`x${text}`).body).toBe(`x${text}`)
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})
