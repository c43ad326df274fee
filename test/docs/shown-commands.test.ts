import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { extractBlocks } from '../house/docs-blocks.js'
import { listFiles } from '../house/source-tree.js'

/** Where each command that is shown is run, and its output compared. */
const tried = 'docs/command.md'

it('commands are shown with what they print only as they are on the page whose commands are tried', () => {
  const [known, ...pages] = [tried, 'README.md', ...listFiles('docs', /\.md$/)].map(shownOn)
  expect(pages.flat().filter(({ code }) => !known?.some((each) => each.code === code))).toEqual([])
})

function shownOn(file: string): { place: string; code: string }[] {
  return extractBlocks(file, readFileSync(file, 'utf8'))
    .filter(({ language, code }) => language === 'text' && code.startsWith('$ '))
    .map(({ line, code }) => ({ place: `${file}:${line}`, code }))
}
