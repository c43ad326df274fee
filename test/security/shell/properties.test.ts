// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are shell expansions

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judge } from '../../../src/authority/judge.js'
import { compilePolicy } from '../../../src/authority/policy.js'
import { createRuleBook } from '../../../src/authority/rule-book.js'
import { analyzeCommand } from '../../../src/authority/shell/analyze-command.js'
import {
  compileCommandPattern,
  patternAllows,
  patternDenies,
} from '../../../src/authority/shell/command-pattern.js'
import { anyCharacter } from '../../support/any-character.js'
import { propertyRuns } from '../../support/property-runs.js'
import { bash, scope } from '../rules/p0.js'
import { ASKS, CLEAR, PATHS, SEEN } from './corpus.js'
import { randomScript, seeded } from './fuzz-grammar.js'
import { policy } from './policy.js'

const known = [...CLEAR, ...[...SEEN, ...ASKS, ...PATHS].map(([command]) => command)]

/** Pieces that mean something to a shell, in any order. */
const pieces = fc.constantFrom(
  ...[
    'ls',
    'rm',
    '-rf',
    ' ',
    ' ',
    '\n',
    ';',
    '&&',
    '||',
    '|',
    '&',
    '(',
    ')',
    '{',
    '}',
    '$(',
    '`',
    '"',
    "'",
    '\\',
    '$',
    '${',
    '#',
  ],
  ...[
    '<<E',
    'E',
    '<(',
    '>',
    '<',
    '((',
    '))',
    '[[',
    ']]',
    '=',
    '*',
    '~',
    '!',
    'if',
    'then',
    'fi',
    'do',
    'done',
    'case',
    'in',
    'esac',
  ],
  ...[
    '$[',
    '[',
    ']',
    '{a,',
    '}',
    ',',
    'eval',
    'bash -c',
    'env',
    'sudo',
    'xargs',
    'find',
    '-exec',
    'cd',
    'x=1',
    '\u00a0',
    '\r',
  ],
)
const soup = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''))
const script = fc.integer().map((seed) => randomScript(seeded(seed)))
const commands = fc.oneof(
  fc.constantFrom(...known),
  soup,
  script,
  fc.string({ unit: anyCharacter, maxLength: 200 }),
)
const patterns = fc
  .array(fc.constantFrom('git', 'rm', 'ls', '*', '-rf', '-r*', 'log*', 'echo', 'a', '--output*', 'cat'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((words) => words.join(' '))

describe('any command', () => {
  it('is analysed without throwing, with the same result each time', () => {
    fc.assert(
      fc.property(commands, (text) => {
        expect(analyzeCommand(text)).toEqual(analyzeCommand(text))
      }),
      { numRuns: propertyRuns(1_500) },
    )
  })

  it('has a unit or a doubt', () => {
    fc.assert(
      fc.property(commands, (text) => {
        const { units, doubts } = analyzeCommand(text)
        expect(units.length + doubts.length).toBeGreaterThan(0)
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })

  it('names paths of units that exist', () => {
    fc.assert(
      fc.property(commands, (text) => {
        const { units, paths } = analyzeCommand(text)
        for (const path of paths) expect(units[path.unit]).toBeDefined()
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })

  it('is not allowed by any pattern when it has doubts or an unknown word', () => {
    fc.assert(
      fc.property(commands, fc.oneof(patterns, fc.constant('*')), (text, pattern) => {
        const compiled = compileCommandPattern(pattern)
        for (const unit of analyzeCommand(text).units) {
          const certain = unit.doubts.length === 0 && unit.words.every((word) => word.value !== undefined)
          if (!certain) expect(patternAllows(compiled, unit)).toBe(false)
        }
      }),
      { numRuns: propertyRuns(1_500) },
    )
  })

  it('is not allowed by one more deny', () => {
    fc.assert(
      fc.property(
        commands,
        fc.array(patterns, { maxLength: 3 }),
        fc.array(patterns, { maxLength: 2 }),
        patterns,
        (text, allow, deny, more) => {
          const granted = allow.filter((one) => one !== more && !deny.includes(one))
          const under = (denied: readonly string[]): string =>
            judge(
              bash(text),
              createRuleBook({ ...compilePolicy(policy({ allow: granted, deny: denied })), scope }),
            ).verdict.action
          const before = under(deny)
          const after = under([...deny, more])
          if (before !== 'allow') expect(after).not.toBe('allow')
          if (before === 'deny') expect(after).toBe('deny')
        },
      ),
      { numRuns: propertyRuns(1_500) },
    )
  })

  it('is denied by a pattern that allows it: deny is at least as wide as allow', () => {
    fc.assert(
      fc.property(
        commands,
        fc.oneof(patterns, fc.constantFrom(...CLEAR.filter((text) => /^[\w ./-]+$/.test(text)))),
        (text, pattern) => {
          const compiled = compileCommandPattern(pattern)
          for (const unit of analyzeCommand(text).units) {
            if (patternAllows(compiled, unit)) expect(patternDenies(compiled, unit)).toBe(true)
          }
        },
      ),
      { numRuns: propertyRuns(1_500) },
    )
  })
})

describe('the analysis time', () => {
  // Exponential work on any of these would run into the time limit of the test; `npm run bench -- limits` has the
  // figures.
  const within = (text: string): void => {
    expect(analyzeCommand(text)).toBeDefined()
  }

  it('of any 8 KiB of text is bounded', () => {
    const repeated = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(repeated, (text) => within(text.repeat(8192 / Math.max(1, text.length)).slice(0, 8000))),
      { numRuns: propertyRuns(150) },
    )
  })

  it.each([
    'env ',
    'sudo ',
    'sudo env ',
    'xargs ',
    'nice -n 1 ',
    'eval ',
    'find -exec ',
    "bash -c '",
    'a;',
    'a|',
    '$x ',
    '((a)) ',
    '<<E\n',
    'cd a;',
    'git -c ',
  ])('of many %j is bounded', (text) => within(text.repeat(8192 / text.length).slice(0, 8100)))
})
