import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import { seeded } from './fuzz-grammar.js'

const PIECES: readonly string[] = [
  ...[
    'a',
    'n',
    'x',
    '0',
    '1',
    '7',
    'c',
    'u',
    '\\',
    '\\',
    '\\n',
    '\\x',
    '\\x6d',
    '\\155',
    '\\u0041',
    '\\1',
    '\\01',
    '\\x4',
    '\\c',
  ],
  ...[
    '\\?',
    '\\"',
    "\\'",
    '"',
    "'",
    '$',
    '`',
    '\\`',
    '\\$',
    ' ',
    '#',
    '~',
    '=',
    ':',
    '{',
    ',',
    '}',
    '[',
    ']',
    '*',
    '!',
    '^',
    '-',
  ],
  ...['<', '\\\n', "$'", '"', '\\e', '\\U00000041', '@', '\\x00', '\\0', '\\000', '\\\\', 'é', '\\xe9', '..'],
]
const WORDS = Number(process.env['QUOTING_WORDS'] ?? 3000)

it(`the analysis reads ${WORDS} quoted words as bash does, whenever it reports them as known`, () => {
  const random = seeded(17)
  const pick = () => PIECES[Math.floor(random() * PIECES.length)] ?? ''
  for (let done = 0; done < WORDS; ) {
    const words: { readonly text: string; readonly value: string }[] = []
    while (words.length < 150) {
      const inside = Array.from({ length: 1 + Math.floor(random() * 7) }, pick).join('')
      const text =
        [`$'${inside}'`, `"${inside}"`, `'${inside}'`, inside, `a${inside}`][Math.floor(random() * 5)] ?? ''
      const value = knownWord(text)
      if (value !== undefined) words.push({ text, value })
    }
    const read = bashWords(words.map(({ text }) => text))
    for (const [at, { text, value }] of words.entries()) {
      // Bash may refuse the word; it must not read another one.
      if (read[at] !== REFUSED) expect(read[at], JSON.stringify(text)).toBe(`1\u001f${value}`)
    }
    done += words.length
  }
})

const REFUSED = '?'

/** The value of a word, when it is claimed to be the only argument and certain. */
function knownWord(text: string): string | undefined {
  const { units, doubts } = analyzeCommand(`f ${text}`)
  const [unit, ...more] = units
  if (!unit || more.length > 0 || doubts.length > 0 || unit.doubts.length > 0) return undefined
  return unit.words.length === 2 && unit.redirections.length === 0 ? unit.words[1]?.value : undefined
}

/** How many arguments bash makes of each, and the first of them. */
function bashWords(texts: readonly string[]): string[] {
  const calls = texts.map(
    (text) => `eval '${`f ${text}`.replaceAll("'", "'\\''")}' || printf '${REFUSED}\\036'`,
  )
  const script = [`f() { printf '%d\\037%s\\036' $# "$1"; }`, ...calls].join('\n')
  const { stdout } = spawnSync('/bin/bash', ['--noprofile', '--norc', '-c', script], {
    encoding: 'utf8',
    cwd: tmpdir(),
    env: { PATH: '', LC_ALL: 'C.UTF-8' },
  })
  return stdout.split('\u001e').slice(0, -1)
}
