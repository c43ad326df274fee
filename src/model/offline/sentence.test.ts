import { describe, expect, it } from 'vitest'
import { matchSentence, sentencesOf } from './sentence.js'
import { understand } from './understand.js'

describe('the requests in a prompt', () => {
  it.each<[string, string[]]>([
    ['find foo', ['find foo']],
    ['Please find foo, thanks!', ['find foo']],
    ['Could you please read a.txt?', ['read a.txt']],
    ['find foo, then read a.txt and then run npm test.', ['find foo', 'read a.txt', 'run npm test']],
    ['read a.txt and count foo', ['read a.txt', 'count foo']],
    ['find cats and dogs', ['find cats and dogs']],
    ['1. read a.txt\n2) list src\n3. show the diff', ['read a.txt', 'list src', 'show the diff']],
    ['Do this:\n- read a.txt\n- list src', ['read a.txt', 'list src']],
    ['replace "a then b" by "c; run d" in x.txt', ['replace "a then b" by "c; run d" in x.txt']],
    ['run `a && b; then c`', ['run `a && b; then c`']],
    ['Read a.txt. Then list src.', ['Read a.txt', 'list src']],
    ['', []],
  ])('%j', (prompt, sentences) => {
    expect(sentencesOf(prompt)).toEqual(sentences)
  })

  it('matches a quoted text as one word, and returns it without quotes', () => {
    const form = /^find (?<what>\S+) in (?<path>\S+)$/
    expect(matchSentence(form, 'find "a then b" in \'c d.txt\'')).toEqual({
      what: 'a then b',
      path: 'c d.txt',
    })
    expect(matchSentence(form, 'find a b in c.txt')).toBeUndefined()
  })

  it('takes linear time on hostile input', () => {
    const tails = [
      ' ',
      'a ',
      ' in',
      '"',
      'the ',
      ' then ',
      '.',
      ' and',
      'files ',
      '`a ',
      'a by ',
      ' please',
      '\ue0000\ue000',
      '\n- x',
    ]
    const heads = [
      '',
      'find',
      'read',
      'show lines 1',
      'list',
      'count',
      'run',
      'replace',
      'edit',
      'create',
      'show',
      'how many',
    ]
    for (const head of heads) {
      for (const tail of tails) understand(`${head} ${tail.repeat(20_000 / tail.length)}x`)
    }
  })
})
