import { describe, expect, it } from 'vitest'
import { markdownTokens } from '../../inspector/src/markdown-tokens.js'

describe('the markdown of a model', () => {
  it('is parsed when it is what models write', () => {
    const list = Array.from({ length: 800 }, (_, at) => `* **${at}**: *item* with \`code\` and __more__`)
    const text = `# Report\n\n${'A paragraph with *some* emphasis. '.repeat(100)}\n\n${list.join('\n')}`
    const types = markdownTokens(text)?.map(({ type }) => type)
    expect(types?.filter((type) => type !== 'space')).toEqual(['heading', 'paragraph', 'list'])
  })

  it.each([
    ['very long', 'a '.repeat(60_000)],
    ['quotes in quotes', '>'.repeat(50_000)],
    ['quotes in quotes, apart', '> '.repeat(50_000)],
    ['lists in lists', `${'- '.repeat(20_000)}a`],
    ['numbered lists in lists', `${'1. '.repeat(20_000)}a`],
    ['lists in quotes', `${'> - '.repeat(20_000)}a`],
    ['emphasis without end', '_a'.repeat(40_000)],
    ['emphasis without end, over lines', 'a*a*a*\n'.repeat(10_000)],
  ])('is shown as text when it is hostile: %s', (_, text) => {
    expect(markdownTokens(text)).toBeUndefined()
  })
})
