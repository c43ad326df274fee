import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { readableHtml } from './readable-html.js'

const read = async (html: string, format: 'markdown' | 'text' = 'markdown') =>
  readableHtml(html, { format, baseUrl: 'https://site.example/dir/page' })

describe('readableHtml', () => {
  it('keeps the main element, its headings, links, lists, tables and code', async () => {
    const { text, title } = await read(
      `<head><title> Tea &amp; more </title></head><body><nav><a href="/">Home</a></nav><div>Buy now</div>
       <main><header><h1>Tea</h1></header><p>${'Leaves and water. '.repeat(15)}<a href="../pot?a=1&amp;b=2">pot</a></p>
       <ul><li>black<ul><li>strong</li></ul></li><li>green</li></ul>
       <table><tr><th>tea</th><th>min</th></tr><tr><td>black</td><td>4|5</td></tr></table>
       <pre><code class="language-js">let a = 1
  b</code></pre></main><footer>Imprint</footer></body>`,
    )
    expect(title).toBe('Tea & more')
    expect(text).toMatch(/^# Tea\n/)
    expect(text).toContain('[pot](https://site.example/pot?a=1&b=2)')
    expect(text).toContain('- black\n  - strong\n- green')
    expect(text).toContain('| tea | min |\n| --- | --- |\n| black | 4\\|5 |')
    expect(text).toContain('```js\nlet a = 1\n  b\n```')
    expect(text).not.toMatch(/Home|Buy now|Imprint/)
  })

  it('returns plain text without markup', async () => {
    const { text } = await read('<h1>A</h1><p>b <strong>c</strong> <a href="/x">d</a></p>', 'text')
    expect(text).toBe('A\n\nb c d')
  })

  it('reads a page without a main element, without what surrounds the content', async () => {
    const { text } = await read(
      '<nav>N</nav><p>lead</p><h2>H</h2><p>body</p><aside>A</aside><footer>F</footer>',
    )
    expect(text).toBe('lead\n\n## H\n\nbody')
  })

  it('uses the only article, and does not choose between two', async () => {
    const long = 'word '.repeat(60)
    expect((await read(`<p>out</p><article><p>${long}</p></article>`)).text).not.toContain('out')
    expect((await read(`<article><p>${long}</p></article><article><p>two</p></article>`)).text).toContain(
      'two',
    )
  })

  it('falls back to the page when its main element is empty', async () => {
    const { text } = await read('<main></main><p>All that the server rendered is out here.</p>')
    expect(text).toBe('All that the server rendered is out here.')
  })

  it('reads unclosed and stray tags', async () => {
    expect((await read('<p>a <b>bold <i>both</p></div></table><p>c')).text).toContain('bold')
    expect((await read('just text')).text).toBe('just text')
    expect((await read('')).text).toBe('')
  })

  it.each([
    ['a script', '<script>steal("x")</script>'],
    ['an upper-case script', '<SCRIPT type="x">steal()</SCRIPT >'],
    ['a style', '<style>.steal{}</style>'],
    ['a comment', '<!-- steal -->'],
    ['an unclosed script', 'ok <script>steal'],
    ['a template', '<template>steal</template>'],
    ['an svg', '<svg><text>steal</text></svg>'],
    ['a hidden element', '<div hidden>steal <b>it</b></div>'],
    ['display:none', '<span style="color:red; DISPLAY : none">steal</span>'],
    ['visibility:hidden', '<p style="visibility:hidden">steal</p>'],
    ['text of no size', '<p style="font-size:0px">steal</p>'],
    ['transparent text', '<p style="opacity:0">steal</p>'],
    [
      'tag characters',
      `<p>ok${[...'steal'].map((c) => String.fromCodePoint(0xe0000 + c.charCodeAt(0))).join('')}</p>`,
    ],
    ['hidden text in a hidden parent', '<div hidden><p><span>steal</span></p></div>'],
  ])('SEC-167: omits %s', async (_name, html) => {
    const { text } = await read(`<p>before</p>${html}`)
    expect(text).toContain('before')
    expect(text).not.toMatch(/steal|\p{Cf}|[\u{e0000}-\u{e0fff}]/u)
  })

  it('keeps text that is only small or faint', async () => {
    const { text } = await read('<p style="font-size:0.9em;opacity:0.5">small print</p>')
    expect(text).toBe('small print')
  })

  it('links only to what can be fetched, and without credentials', async () => {
    const { text } = await read(
      '<p><a href="javascript:steal()">a</a> <a href="https://u:pw@h.example/x">b</a> <img alt="c" src="data:image/png;base64,AAAA"> <a href="mailto:a@b.example">d</a></p>',
    )
    expect(text).not.toMatch(/javascript|pw|base64/)
    expect(text).toContain('[b](https://h.example/x)')
    expect(text).toContain('mailto:a@b.example')
  })

  /** Time that grows faster than the square of the length does not end for these either. */
  const size = propertyRuns(600_000)
  it.each([
    ['deep nesting', '<div>'],
    ['deep lists', '<ul><li>'],
    ['deep tables', '<table><tr><td>'],
    ['deep quotes', '<blockquote>'],
    ['open brackets', '<'],
    ['open attributes', '<a href="'],
    ['open lists', '<ul '],
    ['closing tags', '</div>'],
    ['ampersands', '&'],
    ['spaces', ' '],
    ['line breaks', '<br>'],
    ['links', '<a href=x>y</a>'],
    ['articles', '<article>'],
    ['hidden styles', '<p style="display:non">'],
    ['titles', '<title>'],
    ['backticks', '`'],
    ['joiners', '\u200d'],
  ])('SEC-247: much of %s is read in bounded time', async (_name, unit) => {
    await read(unit.repeat(Math.floor(size / unit.length)))
    await read(`<main><code>${unit.repeat(Math.floor(size / unit.length))}`)
  })

  /**
   * What is removed before the page is cut has no limit. It is long enough that a search which starts again at each
   * unit exceeds the time limit of a test.
   */
  it.each([
    ['open comments', '<!--'],
    ['closed comments', '<!-->'],
    ['open scripts', '<script>'],
    ['closed scripts', '<script></script>'],
    ['half a script end', '<script></scrip'],
    ['script ends without a bracket', '</script '],
    ['style ends without a bracket', '</style '],
  ])('SEC-247: any number of %s is removed in bounded time', async (_name, unit) => {
    const many = unit.repeat(Math.floor(6_000_000 / unit.length))
    for (const open of ['', '<script>', '<style>', '<!--'])
      expect((await read(`<p>before</p>${open}${many}`)).text.length).toBeLessThanOrEqual(1_000_000)
  })

  it('SEC-247: converts no more of a page than its first million characters', async () => {
    const { text, cut } = await read(`${'<p>word</p>'.repeat(90_000)}${'y'.repeat(400_000)}<p>the end`)
    expect(cut).toBe(true)
    expect(text).toContain('word')
    expect(text).not.toContain('the end')
  })

  it.each(['<blockquote>', '<ul><li>', '<ol><li>', '<code>'])(
    'SEC-247: nested %s does not multiply its content',
    async (open) => {
      const page = `${open.repeat(500)}${'<p>x<br>y'.repeat(5_000)}`
      const { text } = await read(page)
      expect(text).toContain('x')
      expect(text.length).toBeLessThan(page.length * 8)
    },
  )

  it('keeps lists and quotes as deep as people write them, and the text after deeper ones', async () => {
    expect((await read('<blockquote><blockquote>in</blockquote>out</blockquote>')).text).toBe(
      '> > in\n>\n> out',
    )
    const deep = `${'<blockquote>'.repeat(5)}in${'</blockquote>'.repeat(5)}<p>after</p>`
    expect((await read(deep)).text).toBe('> > > in\n\nafter')
  })

  it('reads the words of a page with invalid markup', async () => {
    expect((await read('<tr><td>one</td></tr><p>two &amp; three')).text.replace(/\s+/g, ' ')).toBe(
      'one two & three',
    )
  })

  it('reports when a page was too long to be converted in full', async () => {
    expect((await read(`<p>${'x'.repeat(1_000_001)}</p>`)).cut).toBe(true)
    expect((await read(`<script>${'x'.repeat(1_000_001)}</script><p>y</p>`)).cut).toBe(false)
  })
})
