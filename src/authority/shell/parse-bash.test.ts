// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell expansions

import { expect, it } from 'vitest'
import { parseBash } from './parse-bash.js'

it.each([
  'ls',
  '',
  '# x',
  'a && b | c &',
  'f() { x; }',
  'cat <<E\n$(x)\nE',
  '[[ -f a ]]',
  '((1))',
  '$(( ))',
  'echo ${a:-$(b)}',
])('reads %j', (text) => expect(parseBash(text)).toBeDefined())

it.each([
  '"',
  "'",
  '$(',
  '`',
  'if',
  'fi',
  ')',
  'a && ',
  'cat <<E\nno end',
  'echo "$(ls"',
  'echo $(echo "$(")',
  'a ;; b',
  'for',
  '${',
])('does not accept %j as understood', (text) => expect(parseBash(text)).toBeUndefined())

it('survives nesting that overflows the stack of the parser', () => {
  expect(parseBash('"$('.repeat(3000))).toBeUndefined()
})

it.each([
  'cat <(x) b',
  'diff <(a) <(b)',
  'cat < <(x)',
  'x > >(y)\nz',
  '(cat <(x))',
  'cat <(x);y',
  'cat `cat <(x)`',
  'echo "`cat <(\\`x\\`)`"',
])('reads a process substitution that is a whole word: %j', (text) => expect(parseBash(text)).toBeDefined())

it.each([
  '< <(x)a rm y',
  'cat <(x)# ; rm y',
  'cat <(x)\\\n# ; rm y',
  'x=<(y)z rm a',
  'cat a<(x)',
  'cat <(x)<(y)',
  'cat <(x)"a"',
  '`< <(x)a rm y`',
])('does not trust the words around one that is not a whole word: %j', (text) =>
  expect(parseBash(text)).toBeUndefined(),
)
