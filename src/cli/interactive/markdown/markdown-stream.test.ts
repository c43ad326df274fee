import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../../test/support/property-runs.js'
import { colorsFor } from '../../terminal/colors.js'
import { widthOf } from '../../terminal/width.js'
import { MarkdownStream, PlainStream } from './markdown-stream.js'

const plain = colorsFor(
  { env: { NO_COLOR: '1' }, isTTY: { stdin: true, stdout: true, stderr: true } },
  'stdout',
)
const colored = colorsFor(
  { env: { TERM: 'xterm' }, isTTY: { stdin: true, stdout: true, stderr: true } },
  'stdout',
)

function rendered(text: string, columns = 60, colors = plain): string[] {
  const stream = new MarkdownStream(colors)
  stream.add(text)
  return stream.end(columns)
}

/** As it comes: piece by piece, with a look at it after each. */
function streamed(pieces: readonly string[], columns = 60): string[] {
  const stream = new MarkdownStream(plain)
  const lines: string[] = []
  for (const piece of pieces) {
    stream.add(piece)
    lines.push(...stream.settle(columns))
    stream.rest(columns)
  }
  return [...lines, ...stream.end(columns)]
}

const blocks = [
  'A paragraph with **bold**, *italic* and `code` words that run on until the line has to be broken.',
  '# A title &amp; more',
  '- one\n- two\n  - inner\n- [x] done',
  '1. first\n2. second\n10. tenth',
  '```ts\nconst a = 1\n\nconst b = 2\n```',
  '> a quote\n> of two lines',
  '| a | b |\n|---|--:|\n| 1 | 22 |\n| 船 | 3 |',
  '---',
  '    indented code\n    of two lines',
  '<b>html</b>',
  '[link](https://example.org/a) ![picture](https://evil.example/?d=1)',
  '船は十二ノットで進む。🚢 全速前進。',
]

describe('markdown in a terminal', () => {
  it('renders every kind of block', () => {
    expect(rendered(blocks.join('\n\n'))).toMatchInlineSnapshot(`
      [
        "A paragraph with bold, italic and code words that run on",
        "until the line has to be broken.",
        "",
        "A title & more",
        "",
        "• one",
        "• two",
        "  • inner",
        "• [x] done",
        "",
        "1. first",
        "2. second",
        "3. tenth",
        "",
        "  ts",
        "  const a = 1",
        "",
        "  const b = 2",
        "",
        "│ a quote",
        "│ of two lines",
        "",
        "a  │  b",
        "───┼───",
        "1  │ 22",
        "船 │  3",
        "",
        "────────────────────────────────────────",
        "",
        "  indented code",
        "  of two lines",
        "",
        "<b>html</b>",
        "",
        "link (https://example.org/a) [picture]",
        "(https://evil.example/?d=1)",
        "",
        "船は十二ノットで進む。🚢 全速前進。",
      ]
    `)
  })

  it('shows the URLs of links and images, and fetches nothing', () => {
    expect(rendered('[bank](https://evil.example) ![x](https://evil.example/?d=secret)', 90)).toEqual([
      'bank (https://evil.example) [x] (https://evil.example/?d=secret)',
    ])
  })

  it('escapes control characters, also in character references and split sequences', () => {
    const evil = 'a\u001b[2Jb\u202ec\u009b31m &#27;[2J &#x1b;[2J'
    const lines = streamed([...evil]).join('\n')
    expect(lines).toBe('a\\x1b[2Jb\\u202ec\\x9b31m \\x1b[2J \\x1b[2J')
    expect(
      rendered('[a&#27;](http://x/&#27;) `&#27;` ![&#27;](&#27;)\n\n```&#27;\n&#27;\n```').join(''),
    ).not.toContain('\u001b')
    expect(streamed(['one\r', '\ntwo \ud83d', '\udea2']).join('\n')).toBe('one\ntwo 🚢')
  })

  it('prints the finished lines of long code and lists before they end', () => {
    const stream = new MarkdownStream(plain)
    stream.add('Look:\n\n```js\none\ntwo\nthr')
    expect(stream.settle(40)).toEqual(['Look:', '', '  js', '  one', '  two'])
    expect(stream.rest(40)).toEqual(['  thr'])
    // The rest of a block has the width of its start, even if the terminal has changed.
    stream.add('ee\n```\n\n- a\n- b\n- c')
    expect(stream.settle(12)).toEqual(['  three', '', '• a', '• b'])
    expect(stream.end(40)).toEqual(['• c'])
  })

  it('formats a table row by row if it does not fit', () => {
    expect(rendered('| name | value |\n|---|---|\n| speed | twelve knots |\n| x | y |', 16)).toEqual([
      'name: speed',
      'value: twelve',
      '  knots',
      '────────',
      'name: x',
      'value: y',
    ])
  })

  it('closes styles at the end of each line', () => {
    for (const line of rendered(
      '**bold words that are broken over several lines, all of them**',
      20,
      colored,
    )) {
      const opened = line.split('\u001b[1m').length - 1
      expect(line.startsWith('\u001b[1m')).toBe(true)
      expect(line).toMatch(opened > 0 ? /\[(0|22)m$/ : /$/)
    }
  })

  it('produces the same lines for any split of the text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...blocks), { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.integer({ min: 12, max: 80 }),
        (chosen, sizes, columns) => {
          const text = chosen.join('\n\n')
          const pieces: string[] = []
          for (let at = 0, n = 0; at < text.length; n++) {
            const size = sizes[n % sizes.length] ?? 1
            pieces.push(text.slice(at, at + size))
            at += size
          }
          expect(streamed(pieces, columns)).toEqual(rendered(text, columns))
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })

  it('never produces a line that is wider than the terminal, nor control sequences', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.integer({ min: 12, max: 60 }),
        (text, columns) => {
          for (const line of rendered(text, columns)) {
            expect(widthOf(line)).toBeLessThanOrEqual(columns)
            // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not occur
            expect(line).not.toMatch(/[\x00-\x08\x0a-\x1f\x7f-\x9f]/)
          }
        },
      ),
      { numRuns: propertyRuns(200) },
    )
  })
})

describe('an answer for a pipe', () => {
  it('is the text, line by line, made safe', () => {
    const stream = new PlainStream()
    stream.add('# one\ntw')
    expect(stream.settle()).toEqual(['# one'])
    stream.add('o\u001b[2J')
    expect(stream.end()).toEqual(['two\\x1b[2J'])
  })
})
