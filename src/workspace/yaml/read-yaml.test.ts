import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify, parse as usual } from 'yaml'
import { anyCharacter } from '../../../test/support/any-character.js'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { YamlError } from './errors.js'
import { readYaml } from './read-yaml.js'

const maxYamlLength = 64 * 1024

const fieldsOf = (text: string): unknown => readYaml(text).fields

const text = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.string({
    unit: fc.constantFrom('a', ' ', '\n', ':', '#', '-', '"', "'", '\t', 'true', '1', '[', '|', '\\'),
    maxLength: 24,
  }),
  fc.lorem({ maxCount: 40 }),
  fc.array(fc.lorem({ maxCount: 12 }), { maxLength: 5 }).map((lines) => lines.join('\n')),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e21, 12345678),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      text.filter((key) => key !== '__proto__' && key !== '<<'),
      tie('any'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).any

describe('the YAML parser', () => {
  it('parses what the yaml library writes, in every style', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          text.filter((key) => key !== '__proto__' && key !== '<<'),
          value,
          { minKeys: 1, maxKeys: 5, noNullPrototype: true },
        ),
        fc.record({
          lineWidth: fc.constantFrom(0, 20, 80),
          defaultStringType: fc.constantFrom(
            'PLAIN',
            'QUOTE_SINGLE',
            'QUOTE_DOUBLE',
            'BLOCK_LITERAL',
            'BLOCK_FOLDED',
          ),
          defaultKeyType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE'),
          collectionStyle: fc.constantFrom('any', 'flow'),
          indent: fc.constantFrom(2, 4),
          indentSeq: fc.boolean(),
        } as const),
        (fields, style) => {
          const written = stringify(fields, { ...style, aliasDuplicateObjects: false } as never)
          // With line breaks inside of brackets it does not always read what it wrote.
          fc.pre(style.collectionStyle === 'any' || !JSON.stringify(fields).includes('\\n'))
          // Keys that are longer than a line, or hold one, come out in a form that is not written by hand.
          fc.pre(!/^\s*(?:- )*\? /m.test(written) && !/[{[,]\s*\? /.test(written))
          expect(readYaml(written).fields).toEqual(usual(written))
        },
      ),
      { numRuns: propertyRuns(300) },
    )
  })

  it('never parses a text differently from the yaml library, and throws only its own error', () => {
    const piece = fc.constantFrom(
      'a',
      'b: ',
      '- ',
      '\n',
      '  ',
      '"',
      "'",
      ': ',
      '#',
      ' #',
      '[',
      ']',
      '{',
      '}',
      ', ',
      '|',
      '>',
      '-',
      '\\',
      '1',
      'true',
      '\n\n',
      '\t',
      '*',
      '&x',
      '!',
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 24 }).map((pieces) => `k: 1\n${pieces.join('')}`),
        (written) => {
          let fields: unknown
          try {
            fields = readYaml(written).fields
          } catch (error) {
            expect(error).toBeInstanceOf(YamlError)
            return
          }
          let expected: unknown
          try {
            expected = usual(written, { schema: 'core' })
          } catch {
            // Stricter than us: a colon in a text.
            return
          }
          expect(fields).toEqual(expected)
        },
      ),
      { numRuns: propertyRuns(2_000) },
    )
  })

  it('accepts the forms that people write', () => {
    const written = [
      '---',
      'name: pdf-tools   # a comment',
      'description: Use when: a PDF is at hand. Fills forms, merges: all of it',
      'long: >-',
      '  one',
      '  two',
      '',
      '  three',
      'more: first line',
      '  second line',
      'list:',
      '- a',
      '- b: 1',
      '  c: 2',
      'flow: [Read, "Bash(git:*)", Bash(npm run test)]',
      'metadata: { author: me, version: "1.0" }',
      'empty:',
      'last: |',
      '  # no comment',
      '    kept',
      '',
    ].join('\r\n')
    const { fields, lines } = readYaml(written)
    expect(fields).toEqual({
      name: 'pdf-tools',
      description: 'Use when: a PDF is at hand. Fills forms, merges: all of it',
      long: 'one two\nthree',
      more: 'first line second line',
      list: ['a', { b: 1, c: 2 }],
      flow: ['Read', 'Bash(git:*)', 'Bash(npm run test)'],
      metadata: { author: 'me', version: '1.0' },
      empty: null,
      last: '# no comment\n  kept\n',
    })
    expect([lines.get('name'), lines.get('list'), lines.get('last')]).toEqual([2, 11, 18])
  })

  it.each([
    ['an anchor', 'a: &x 1', 1, 'anchor'],
    ['an alias', 'a: 1\nb: *x', 2, 'alias'],
    ['a tag', 'a: 1\nb: !!js/function x', 2, 'tag'],
    ['a tag in a list', 'a: [1, !x 2]', 1, 'tag'],
    ['a merge', 'a: 1\n<<: 2', 2, '"<<"'],
    ['a key for the prototype', 'a:\n  __proto__: { x: 1 }', 2, '__proto__'],
    ['the same key twice', 'a: 1\nb: 2\na: 3', 3, '"a" occurs twice'],
    ['a tab for blanks', 'a:\n\tb: 1', 2, 'tab'],
    ['a quote without its end', 'a: 1\nb: "open\n', 2, 'never closed'],
    ['a bracket without its end', 'a: [1, 2', 1, 'never closed|expected'],
    ['a line that is not a field', 'a: 1\njust words', 2, 'just words'],
    ['a field that is indented too far', 'a: 1\n  b: 2', 2, 'looks like a field'],
    ['a second document', 'a: 1\n---\nb: 2', 2, 'second document'],
    ['a list', '- a\n- b', 2, 'fields are expected'],
    ['an escape that does not exist', 'a: "\\q"', 1, 'backslash'],
    ['text after a value', 'a: "b" c', 1, 'unexpected text after'],
    ['too many levels', `a: ${'['.repeat(50)}`, 1, 'deeper'],
    [
      'too many levels of blocks',
      Array.from({ length: 50 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
      34,
      'deeper',
    ],
    ['too long a text', `a: ${'x'.repeat(maxYamlLength)}`, 1, 'make it shorter'],
  ])('rejects %s, with its line', (_, written, line, words) => {
    let thrown: unknown
    try {
      readYaml(written)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(YamlError)
    expect((thrown as YamlError).line).toBe(line)
    expect((thrown as YamlError).message).toMatch(new RegExp(words))
  })

  it('counts lines from where its text begins in the file', () => {
    expect(() => readYaml('a: 1\na: 2', 10)).toThrow('line 11: ')
  })

  it('takes no longer for texts that are designed to be slow', () => {
    const half = maxYamlLength / 2 - 10
    for (const hostile of [
      `a: ${' '.repeat(half)}b`,
      `a: x${' '.repeat(half)}b`,
      `${' #'.repeat(half / 2)}`,
      `a: [${'a,'.repeat(half / 2)}`,
      `a: "${'\\\n'.repeat(half / 2)}`,
      `a: ${'[ '.repeat(half / 2)}`,
      `${'a:'.repeat(half / 2)}`,
      `a: |\n${'\n'.repeat(half)}`,
      `a:\n${' -'.repeat(half / 2)}`,
    ])
      try {
        fieldsOf(hostile)
      } catch (error) {
        expect(error).toBeInstanceOf(YamlError)
      }
  })
})
