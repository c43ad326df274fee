import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../../test/support/any-character.js'
import { factor } from '../../../../test/support/fault-factor.js'
import { propertyRuns } from '../../../../test/support/property-runs.js'
import type { Item, Value } from './ast.js'
import { parseAcl } from './parse.js'

/**
 * The tree without its spans, in short form: blocks as `[name, labels, body]`, attributes as `[name,
 * value]`.
 */
function plainItems(items: readonly Item[]): unknown[] {
  return items.map((item) =>
    item.type === 'block'
      ? [item.name, item.labels.map(({ text }) => text), plainItems(item.body.items)]
      : [item.name, plainValue(item.value)],
  )
}

function plainValue(value: Value): unknown {
  switch (value.type) {
    case 'list':
      return value.items.map(plainValue)
    case 'object':
      return { object: plainItems(value.items) }
    case 'call':
      return { call: value.name, args: value.args.map(plainValue) }
    case 'null':
      return null
    case 'foreign':
      return undefined
    default:
      return value.value
  }
}

function problemsOf(source: string): string[] {
  return parseAcl(source).problems.map(({ message, span }) => `${span.line}:${span.column} ${message}`)
}

describe('an ACL document', () => {
  const accepted: [source: string, items: unknown[]][] = [
    ['', []],
    ['\ufeffa = 1', [['a', 1]]],
    [
      'a = 1\nb: "x"',
      [
        ['a', 1],
        ['b', 'x'],
      ],
    ],
    [
      'a = 1 b = 2',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'a = 1, b = 2,',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    ['a =\n\n  1', [['a', 1]]],
    [
      'a = true b = false c = null',
      [
        ['a', true],
        ['b', false],
        ['c', null],
      ],
    ],
    ['a = [0, 42, -1, 3.14, 1e10, 2.5E-3, -0.5]', [['a', [0, 42, -1, 3.14, 1e10, 0.0025, -0.5]]]],
    ['a = [\n  "x",\n  \'y\',\n]', [['a', ['x', 'y']]]],
    ['a = []', [['a', []]]],
    [
      'a = { b = 1, "c-d": [2] }',
      [
        [
          'a',
          {
            object: [
              ['b', 1],
              ['c-d', [2]],
            ],
          },
        ],
      ],
    ],
    [
      'a = { b = 1\n c = 2 d = 3, }',
      [
        [
          'a',
          {
            object: [
              ['b', 1],
              ['c', 2],
              ['d', 3],
            ],
          },
        ],
      ],
    ],
    ['a = env("X")', [['a', { call: 'env', args: ['X'] }]]],
    ['a = f(1, [2],)', [['a', { call: 'f', args: [1, [2]] }]]],
    ['a = f()', [['a', { call: 'f', args: [] }]]],
    ['a {}', [['a', [], []]]],
    [
      'a "x" "y" { b = 1 c "z" { d = 2 } }',
      [
        [
          'a',
          ['x', 'y'],
          [
            ['b', 1],
            ['c', ['z'], [['d', 2]]],
          ],
        ],
      ],
    ],
    ["a 'x'\n{\n}", [['a', ['x'], []]]],
    ['a = "1 \\n \\r \\t \\\\ \\" \' # // é 😀"', [['a', '1 \n \r \t \\ " \' # // é 😀']]],
    ["a = 'C:\\new\\' \" \\t'", [['a', 'C:\\new\' " \\t']]],
    ['# one\n// two\n/* three\n a = 2 */ a = /* four */ 1 # five', [['a', 1]]],
    [
      'a = 1 // two\r\nb = 2\r\n',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    [
      'a = 1 a = 2',
      [
        ['a', 1],
        ['a', 2],
      ],
    ],
    ['_a1 = 1', [['_a1', 1]]],
  ]
  it.each(accepted)('parses: %j', (source, items) => {
    const parsed = parseAcl(source)
    expect(parsed.problems).toEqual([])
    expect(plainItems(parsed.items)).toEqual(items)
  })

  const refused: [source: string, problems: string[]][] = [
    ['a = "x', ['1:5 this string is not closed: the quotation mark is missing in its line']],
    [
      'a = "x\nb = \'y\nc = 1',
      [
        '1:5 this string is not closed: the quotation mark is missing in its line',
        '2:5 this string is not closed: the quotation mark is missing in its line',
      ],
    ],
    ['a = "x\\', ['1:5 this string is not closed: the quotation mark is missing in its line']],
    [
      'a = "\\q"',
      ['1:6 unknown escape in a string: use \\n, \\r, \\t, \\\\ or \\"; write \\\\ for a backslash'],
    ],
    ['\n  @', ['2:3 "@" has no meaning here']],
    ['a = 1\u00b5', ['1:6 unexpected character U+00B5']],
    ['a = 😀', ['1:5 unexpected character U+1F600']],
    ['a = 1;', ['1:6 ";" has no meaning here: items are separated by a new line, a space or ","']],
    ['a = “x”', [`1:5 this quotation mark is not " or '`]],
    ['a = $X', ['1:5 "$" has no meaning here: write env("NAME") for an environment variable']],
    [
      '/ x',
      [
        '1:1 a single "/" has no meaning here: comments start with "//" or "#", and a path is a string in quotes',
      ],
    ],
    [
      'a = /tmp/x',
      [
        '1:5 a single "/" has no meaning here: comments start with "//" or "#", and a path is a string in quotes',
      ],
    ],
    ['a = 1\n/* x', ['2:1 this comment is not closed: "*/" is missing']],
    ...['01', '1.', '1.2.3', '1_000', '12abc', '0x10', '1e', '+1', '-1-'].map(
      (number): [string, string[]] => [
        `a = ${number}`,
        [
          expect.stringMatching(
            /^1:\d this is not a number: write 42, -1, 3\.14 or 1e10$|^1:7 "-" has no meaning/,
          ),
        ],
      ],
    ),
    ['a = 1e999', ['1:5 this number is too large']],
    [
      'a = .5',
      ['1:5 "." has no meaning here: write a name with this character, and every string, in quotes'],
    ],
    [
      'a-b = 1',
      ['1:2 "-" has no meaning here: write a name with this character, and every string, in quotes'],
    ],
    ['a = x', ['1:5 expected a value, found a bare word: write a string in quotes']],
    ['a = ', ['1:5 expected a value, found the end of the document']],
    ['a = }', ['1:5 expected a value, found "}"']],
    ['a', ['1:2 expected "=", ":", a label or "{" after the name, found the end of the document']],
    [
      'a b {}',
      ['1:3 expected "=", ":", a label or "{" after the name, found a name; write a label in quotes'],
    ],
    ['a "x" = 1', ['1:7 expected "{" after the label, found "="']],
    ['a += 1', ['1:3 "+=" is not supported: write the whole value with "="']],
    ['"a" = 1', ['1:1 expected the name of a field or block, found a string in quotes']],
    ['= 1', ['1:1 expected the name of a field or block, found "="']],
    ['}', ['1:1 expected the name of a field or block, found "}"']],
    ['a {\n b = 1', ['1:3 this "{" is not closed: "}" is missing']],
    [
      'a {\n b {\n',
      ['2:4 this "{" is not closed: "}" is missing', '1:3 this "{" is not closed: "}" is missing'],
    ],
    ['a = [1 2]', ['1:8 expected "," or "]" in a list, found a number']],
    ['a = [1,,2]', ['1:8 expected a value, found ","']],
    ['a = [1', ['1:5 the opening bracket of a list is not closed']],
    ['a = {\n b = 1', ['1:5 the opening bracket of an object is not closed']],
    ['a = { b }', ['1:9 expected "=" or ":" after the name, found "}"']],
    ['a = { b {} }', ['1:9 expected "=" or ":" after the name, found "{"']],
    ['a = f(1', ['1:6 the opening bracket of a call is not closed']],
  ]
  it.each(refused)('is rejected with the position of the error: %j', (source, problems) => {
    expect(problemsOf(source)).toEqual(problems)
  })

  it('is parsed to the end after an error, so that all errors are reported at once, one per line', () => {
    const source = 'a = @ $ ;\nb = [1, x\n, 3]\nc "l" {\n  d = \n}\ne = {\n f = %\n g = 1\n}\nh 1\ni = 2'
    expect(problemsOf(source).map((problem) => problem.replace(/ .*/, ''))).toEqual([
      '1:5',
      '2:9',
      '6:1',
      '8:6',
      '11:3',
    ])
  })

  it('reports at most 100 errors', () => {
    expect(problemsOf('@\n'.repeat(5000))).toHaveLength(100)
  })

  it('has a position for every node', () => {
    const source = '# c\na "x" {\n  b = [1,\n    "y"]\n}'
    const [block] = parseAcl(source).items
    expect(block).toMatchObject({
      span: { line: 2, column: 1, offset: 4, end: 5 },
      labels: [{ span: { line: 2, column: 3, offset: 6, end: 9 } }],
      body: {
        span: { line: 2, column: 7, offset: 10, end: source.length },
        items: [
          {
            span: { line: 3, column: 3 },
            value: {
              span: { line: 3, column: 7 },
              items: [{ span: { line: 3, column: 8 } }, { span: { line: 4, column: 5 } }],
            },
          },
        ],
      },
    })
  })
})

describe('the limits of an ACL document', () => {
  it('apply to the size in bytes', () => {
    const comment = (bytes: number) => `#${'é'.repeat((bytes - 2) / 2)}\n`
    expect(problemsOf(comment(1024 * 1024))).toEqual([])
    expect(problemsOf(`${comment(1024 * 1024)} `)).toEqual(['1:1 the document is larger than 1 MiB'])
  })

  it('apply to the nesting of values and of blocks', () => {
    const lists = (depth: number) => `a = ${'['.repeat(depth)}${']'.repeat(depth)}`
    const blocks = (depth: number) => `${'a {'.repeat(depth)}${'}'.repeat(depth)}`
    expect(problemsOf(lists(64))).toEqual([])
    expect(problemsOf(blocks(64))).toEqual([])
    expect(problemsOf(lists(65))).toEqual(['1:69 nested deeper than 64 levels'])
    expect(problemsOf(blocks(65))).toEqual(['1:195 nested deeper than 64 levels'])
    for (const open of ['[', '{ a = ', 'f(']) {
      expect(problemsOf(`a = ${open.repeat(100_000)}`)).toEqual([
        expect.stringContaining('nested deeper than 64'),
      ])
    }
    expect(problemsOf('a {'.repeat(300_000))).toEqual([expect.stringContaining('nested deeper than 64')])
  })

  it('apply to the number of items in one list or block', () => {
    expect(problemsOf('a=1\n'.repeat(10_000))).toEqual([])
    expect(problemsOf('a=1\n'.repeat(10_001))).toEqual([
      '10002:1 more than 10000 items in a block or the document',
    ])
    expect(problemsOf(`a = [${'1,'.repeat(10_001)}]`)[0]).toMatch('more than 10000 items in a list')
    expect(problemsOf(`a = {${'b=1,'.repeat(10_001)}}`)[0]).toMatch('more than 10000 items in an object')
    expect(problemsOf(`a ${'"l"'.repeat(10_001)}{}`)[0]).toMatch(
      'more than 10000 items in the labels of a block',
    )
  })

  it('apply to the length of one token', () => {
    expect(problemsOf(`a = "${'x'.repeat(256 * 1024 - 2)}"`)).toEqual([])
    expect(problemsOf(`a = "${'x'.repeat(256 * 1024 - 1)}"`)).toEqual([
      '1:5 a string, name or number is longer than 256 KiB',
    ])
    expect(problemsOf(`${'a'.repeat(256 * 1024 + 1)} = 1`)[0]).toMatch('longer than 256 KiB')
    expect(problemsOf(`a = ${'1'.repeat(256 * 1024 + 1)}`).at(-1)).toMatch('longer than 256 KiB')
  })

  // How the time grows with the text is measured by `npm run bench -- limits`.
  it('apply to a long text of any kind', () => {
    const size = factor > 1 ? 1_000_000 : 300_000
    const fill = (piece: string): string => piece.repeat(Math.floor(size / piece.length))
    const hostile = [
      Array.from({ length: size / 120 }, (_, at) => `a${at} "l" { b = ["${'x'.repeat(80)}", 1.5] }\n`).join(
        '',
      ),
      `a = [${Array.from({ length: size / 10_000 }, () => `[${'"x",'.repeat(2500)}]`).join(',')}]`,
      fill('/**/'),
      fill('# x\n'),
      fill('"'),
      fill('\\'),
      fill('"\\"'),
      fill('\n'),
      fill('/*'),
      fill('1e'),
      fill('-'),
      `a = "${fill('\\n')}`,
      fill('a "'),
      fill(')'),
      fill('\u0000'),
    ]
    for (const source of hostile) expect(parseAcl(source), source.slice(0, 40)).toBeDefined()
  })
})

describe('for any text', () => {
  const fragment = fc.constantFrom(
    ...[
      'a',
      'providers',
      ' ',
      '\n',
      '=',
      ':',
      '+=',
      '{',
      '}',
      '[',
      ']',
      '(',
      ')',
      ',',
      '"',
      "'",
      '\\',
      '/',
      '//',
      '/*',
      '*/',
    ],
    ...['#', '1', '-', '.', 'e', 'true', 'null', 'env("A")', '"x"', '\r\n', '\ufeff', '\u2028', '\ud800'],
  )

  it('parsing ends, and does not throw', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 200 }),
      fc.array(fragment, { maxLength: 80 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (source) => {
        for (const { span } of parseAcl(source).problems) {
          expect(span.offset).toBeLessThanOrEqual(source.length)
          expect(source.slice(0, span.offset).split('\n')).toHaveLength(span.line)
        }
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })

  type Plain =
    | string
    | number
    | boolean
    | null
    | Plain[]
    | { object: [string, Plain][] }
    | { call: string; args: Plain[] }
  type PlainItem = [string, Plain] | [string, string[], PlainItem[]]
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
  const text = fc.string({ unit: anyCharacter, maxLength: 12 })
  const { items } = fc.letrec<{ value: Plain; item: PlainItem; items: PlainItem[] }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each || 0),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(fc.oneof(name, text), tie('value')), { maxLength: 4 }).map((object) => ({ object })),
      fc.record({ call: name, args: fc.array(tie('value'), { maxLength: 3 }) }),
    ),
    item: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.tuple(name, tie('value')),
      fc.tuple(name, fc.array(text, { maxLength: 2 }), tie('items')),
    ),
    items: fc.array(tie('item'), { maxLength: 4 }),
  }))

  it('the ACL that is printed from a tree parses to the same tree', () => {
    const style = fc.record({
      assign: fc.constantFrom('=', ' = ', ':', ' =\n  '),
      between: fc.constantFrom(' ', '\n', ', ', ' # note\n', ' /* note */ '),
    })
    fc.assert(
      fc.property(items, style, (tree, { assign, between }) => {
        const print = (value: Plain): string => {
          if (typeof value === 'string') return quote(value)
          if (Array.isArray(value)) return `[${value.map(print).join(',')}]`
          if (typeof value !== 'object' || value === null) return String(value)
          if ('call' in value) return `${value.call}(${value.args.map(print).join(', ')})`
          return `{${value.object.map(([key, each]) => `${printKey(key)}${assign}${print(each)}`).join(between)}}`
        }
        const printItems = (list: PlainItem[]): string =>
          list
            .map((item) =>
              item.length === 2
                ? `${item[0]}${assign}${print(item[1])}`
                : `${item[0]} ${item[1].map(quote).join(' ')} {${between === ', ' ? '' : between}${printItems(item[2])}}`,
            )
            .join(between)
        const parsed = parseAcl(printItems(tree))
        expect(parsed.problems).toEqual([])
        expect(plainItems(parsed.items)).toEqual(tree)
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  function quote(value: string): string {
    const escaped = value.replace(
      /[\\"\n\r\t]/g,
      (char) => `\\${{ '\n': 'n', '\r': 'r', '\t': 't' }[char] ?? char}`,
    )
    return `"${escaped}"`
  }

  function printKey(key: string): string {
    return /^[A-Za-z_]\w*$/.test(key) ? key : quote(key)
  }
})
