import { expect, it } from 'vitest'
import { wordsOf } from './words.js'

it.each([
  ['send_email', ['send', 'email']],
  ['sendEmailMessages', ['send', 'email', 'message']],
  ['parseHTTPRequest', ['parse', 'http', 'request']],
  ['The policies of the class', ['policy', 'class']],
  ['cafe\u0301', ['caf\u00e9']],
  ['हिन्दी पाठ', ['हिन्दी', 'पाठ']],
  ['v2 of 3.5', ['v2', '3', '5']],
  ['', []],
])('splits %s into words', (text, words) => {
  expect(wordsOf(text)).toEqual(words)
})
