import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { extractBlocks } from '../house/docs-blocks.js'
import { listFiles } from '../house/source-tree.js'

/** The page whose commands are run and compared with their output (test/cli). */
const tried = 'docs/command.md'

/** Its commands are run by its own test (test/server/docs.test.ts). */
const triedElsewhere = 'docs/server.md'

it('a command with its output is shown only on the page whose commands are tested', () => {
  const others = listFiles('docs', /\.md$/).filter((page) => page !== triedElsewhere)
  const [known, ...pages] = [tried, 'README.md', ...others].map(shownOn)
  expect(pages.flat().filter(({ code }) => !known?.some((each) => each.code === code))).toEqual([])
})

function shownOn(file: string): { place: string; code: string }[] {
  return extractBlocks(file, readFileSync(file, 'utf8'))
    .filter(({ language, code }) => language === 'text' && code.startsWith('$ '))
    .map(({ line, code }) => ({ place: `${file}:${line}`, code }))
}
