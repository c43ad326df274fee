import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { isHarmlessSedScript } from '../../../src/authority/shell/sed-script.js'
import { seeded } from './fuzz-grammar.js'

const PIECES: readonly string[] = [
  ...[
    's',
    '/',
    '/',
    '/',
    'e',
    'w f',
    'w',
    'p',
    'd',
    ';',
    '\n',
    '{',
    '}',
    '[',
    ']',
    '\\',
    'a',
    'b',
    '1',
    ',',
    '$',
    '!',
    'y',
    '|',
    '#',
  ],
  ...[
    '^',
    '[a]',
    '[^/]',
    'i',
    'c',
    'q',
    'g',
    ' ',
    '&',
    '\\n',
    'I',
    'M',
    '\\(',
    '\\)',
    ':',
    't',
    'b x',
    '~',
    '+',
    'n',
    '=',
    'r f',
  ],
  ...[
    '\\,',
    's,',
    '0',
    '[[:alpha:]]',
    '[:',
    's/a/b/',
    '/a/',
    's|a|b|',
    'T',
    'l',
    'Q',
    'W',
    'R',
    'F',
    'z',
    'v',
  ],
]
const CASES = Number(process.env['SED_CASES'] ?? 400)
const hasSandbox = spawnSync('sed', ['--sandbox', 'p'], { input: '' }).status === 0

it.skipIf(!hasSandbox)(
  'a sed script that counts as harmless is accepted by the sandbox of sed itself',
  () => {
    const random = seeded(11)
    const pick = () => PIECES[Math.floor(random() * PIECES.length)] ?? ''
    for (let tried = 0; tried < CASES; ) {
      const script = Array.from({ length: 1 + Math.floor(random() * 9) }, pick).join('')
      if (!isHarmlessSedScript(script) || !/[ewrWR]/.test(script)) continue
      tried++
      const { stderr } = spawnSync('sed', ['--sandbox', '-n', script], { input: '', encoding: 'utf8' })
      expect(stderr, JSON.stringify(script)).not.toContain('disabled in sandbox mode')
    }
  },
  CASES * 50 + 20_000,
)
