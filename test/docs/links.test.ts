import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles } from '../house/source-tree.js'

const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'AGENTS.md'],
  ...listFiles('docs', /\.md$/),
]

describe('the links of the documents', () => {
  it.each(pages)('of %s lead to files and headings that exist', (page) => {
    expect(linksOf(textOf(page)).flatMap((link) => problemOf(page, link))).toEqual([])
  })

  it('are found, and a wrong one is reported', () => {
    const links = linksOf('See [a](docs/none.md), ![b](docs/images/none.svg) and [c](https://example.com).')
    expect(links).toEqual(['docs/none.md', 'docs/images/none.svg', 'https://example.com'])
    expect(links.flatMap((link) => problemOf('README.md', link))).toHaveLength(2)
    expect(problemOf('README.md', 'docs/sessions.md#no-such-heading')).toHaveLength(1)
    expect(problemOf('README.md', '#documentation')).toEqual([])
  })
})

function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/^(`{3,})[\s\S]*?^\1$/gm, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link)
}

function problemOf(page: string, link: string): string[] {
  if (/^https?:/.test(link)) return []
  const [path = '', heading] = link.split('#')
  const target = path === '' ? page : posix.join(posix.dirname(page), path)
  if (!existsSync(target)) return [`${link}: there is no ${target}`]
  if (heading === undefined || anchorsOf(textOf(target)).includes(heading)) return []
  return [`${link}: ${target} has no such heading`]
}

/** As the sites that show Markdown make them. */
function anchorsOf(markdown: string): string[] {
  const prose = markdown.replace(/^(`{3,})[\s\S]*?^\1$/gm, '')
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function textOf(page: string): string {
  return readFileSync(page, 'utf8')
}
