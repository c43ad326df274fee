import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decide } from '../../../../test/support/decide-sbpl.js'
import { readSbpl } from './read-sbpl.js'
import { type SbplFilter, type SbplRule, writeSbpl } from './sbpl.js'

const head = '(version 1)\n(deny default)\n'

describe('readSbpl', () => {
  it('reads operations, filters, nested filters and comments', () => {
    const text = `${head}; a comment with ( and "
(allow file-read* (subpath "/a b") (require-all (literal "/c") (require-not (regex "^/d(/|$)")))) ; end
(allow network-outbound (remote tcp "localhost:80"))`
    expect(readSbpl(text).rules).toEqual([
      {
        action: 'allow',
        operations: ['file-read*'],
        filters: [
          { kind: 'subpath', path: '/a b' },
          {
            kind: 'require-all',
            filters: [
              { kind: 'literal', path: '/c' },
              { kind: 'require-not', filter: { kind: 'regex', pattern: '^/d(/|$)' } },
            ],
          },
        ],
      },
      {
        action: 'allow',
        operations: ['network-outbound'],
        filters: [{ kind: 'other', name: 'remote', words: [{ symbol: 'tcp' }, { text: 'localhost:80' }] }],
      },
    ])
  })

  it.each([
    ['no version', '(deny default)'],
    ['no default', '(version 1)(allow signal)'],
    ['two defaults', `${head}(allow default)`],
    ['an open parenthesis', `${head}(allow signal`],
    ['a parenthesis too many', `${head}(allow signal))`],
    ['an open string', `${head}(allow file-read* (literal "/a))`],
    ['a letter after a backslash', `${head}(allow file-read* (literal "/\\n"))`],
    ['a raw string', `${head}(allow file-read* (regex #"/a"))`],
    ['another form', `${head}(import "system.sb")`],
    ['an operation after a filter', `${head}(allow file-read* (literal "/a") file-write*)`],
    ['no operation', `${head}(allow (literal "/a"))`],
    ['a path filter without a string', `${head}(allow file-read* (literal a))`],
  ])('rejects %s', (_, text) => {
    expect(() => readSbpl(text)).toThrow(SyntaxError)
  })

  it('reads every rule as it was written', () => {
    const text = fc.string({
      unit: fc.constantFrom('/', 'a', '"', '\\', '\n', '(', ')', ';', '#', 'é', '🦀'),
    })
    const { filter } = fc.letrec<{ filter: SbplFilter }>((tie) => ({
      filter: fc.oneof(
        { maxDepth: 2 },
        fc.record({ kind: fc.constantFrom('literal', 'subpath'), path: text }),
        fc.record({ kind: fc.constant('regex'), pattern: text }),
        fc.record({
          kind: fc.constantFrom('require-all', 'require-any'),
          filters: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }),
        }),
        fc.record({ kind: fc.constant('require-not'), filter: tie('filter') }),
      ),
    }))
    const rule: fc.Arbitrary<SbplRule> = fc.record({
      action: fc.constantFrom('allow', 'deny'),
      operations: fc.array(fc.constantFrom('file-read*', 'signal', 'file-write-data'), {
        minLength: 1,
        maxLength: 2,
      }),
      filters: fc.array(filter, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), (rules) => {
        expect(readSbpl(writeSbpl(rules))).toEqual({ default: 'deny', rules })
      }),
    )
  })
})

describe('decide', () => {
  const profile = readSbpl(`${head}
(allow file-read* (subpath "/a"))
(deny file-read-data (literal "/a/b"))
(allow file-read* (require-all (subpath "/a/b") (require-not (literal "/a/b"))))
(allow signal)`)

  it.each([
    ['the default', 'file-write-data', '/a/c', 'deny'],
    ['a rule for all operations that begin so', 'file-read-xattr', '/a/b', 'allow'],
    ['the last rule that applies', 'file-read-data', '/a/b', 'deny'],
    ['a rule without filters', 'signal', '/', 'allow'],
    ['no sibling with a longer name', 'file-read-data', '/ab', 'deny'],
  ])('returns %s', (_, operation, path, expected) => {
    expect(decide(profile, { operation, path })).toBe(expected)
  })
})
