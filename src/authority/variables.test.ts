import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assertVariables,
  compileRequirements,
  expandVariables,
  UnknownVariableError,
  variableNames,
} from './variables.js'

const values = { workspace: ['/w', '/extra'], scratch: ['/tmp/s'], 'ad-hoc': [] }

describe('expandVariables', () => {
  it.each([
    ['src/**', ['src/**']],
    ['{workspace}/**', ['/w/**', '/extra/**']],
    ['{scratch}', ['/tmp/s']],
    ['{workspace}/{scratch}', ['/w//tmp/s', '/extra//tmp/s']],
    ['**/*.{ts,tsx}', ['**/*.{ts,tsx}']],
    ['{workspace}/*.{ts,tsx}', ['/w/*.{ts,tsx}', '/extra/*.{ts,tsx}']],
  ])('expands %s to %j', (pattern, expected) => {
    expect(expandVariables(pattern, values)).toEqual(expected)
  })

  it.each(['{ad-hoc}/**', '{user-data}/x', '{workspace}/{ad-hoc}'])(
    'returns nothing for %s when a variable has no value',
    (pattern) => {
      expect(expandVariables(pattern, values)).toEqual([])
    },
  )

  it('reads an escaped brace as a literal', () => {
    expect(expandVariables('\\{x\\}/{scratch}', values)).toEqual(['\\{x\\}//tmp/s'])
  })

  it('does not read a blank value as the root of the disk, nor a trailing slash as a name', () => {
    expect(expandVariables('{workspace}/**', { workspace: ['', ' '] })).toEqual([])
    expect(expandVariables('{workspace}/**', { workspace: ['/ws/', '/'] })).toEqual(['/ws/**', '//**'])
  })

  it('reads the characters of a directory’s name as literals', () => {
    expect(expandVariables('{workspace}/**', { workspace: ['/w/a*b[c]{d}'] })).toEqual([
      '/w/a\\*b\\[c\\]\\{d\\}/**',
    ])
  })

  it('returns one pattern for every combination, and no variable remains', () => {
    const name = fc.constantFrom(...variableNames)
    const part = fc.oneof(
      name.map((one) => `{${one}}`),
      fc.stringMatching(/^[a-z*/.]{0,6}$/),
    )
    const dirs = fc.array(fc.stringMatching(/^\/[a-z]{1,5}$/), { maxLength: 3 })
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 5 }),
        fc.record({ workspace: dirs, 'ad-hoc': dirs, 'user-data': dirs, scratch: dirs }),
        (parts, given) => {
          const expected = parts.reduce(
            (count, one) => count * (one.startsWith('{') ? given[one.slice(1, -1) as 'workspace'].length : 1),
            1,
          )
          const expanded = expandVariables(parts.join(''), given)
          expect(expanded).toHaveLength(expected)
          for (const one of expanded) expect(one).not.toMatch(/[{}]/)
        },
      ),
    )
  })
})

describe('unknown variables', () => {
  it('throw when the manifest is compiled, with the nearest known name', () => {
    expect(() => compileRequirements({ fs: { write: ['{wrokspace}/**'] } }, values)).toThrow(
      UnknownVariableError,
    )
    expect(() => compileRequirements({ fs: { write: ['{wrokspace}/**'] } }, values)).toThrow(
      'Unknown variable {wrokspace} in the pattern "{wrokspace}/**"; did you mean "{workspace}"?',
    )
    expect(() => assertVariables({ net: { hosts: ['{tenant}.example.com'] } })).toThrow(
      'known: {workspace}, {ad-hoc}, {user-data}, {scratch}',
    )
    expect(() => expandVariables('{Workspace}', values)).toThrow('did you mean "{workspace}"?')
    expect(() => expandVariables('{}', values)).toThrow(UnknownVariableError)
    expect(() => expandVariables('{wrokspace,scratch}/**', values)).toThrow(
      'A choice cannot hold a variable: {wrokspace,scratch}',
    )
    expect(() => expandVariables('{workspace/**', values)).toThrow('A "{" that is never closed (at 0)')
    expect(() => expandVariables('a}/**', values)).toThrow('A "}" that closes nothing (at 1)')
  })

  it('throw for every unknown name', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zA-Z_-]{0,12}$/), (name) => {
        fc.pre(!(variableNames as readonly string[]).includes(name))
        expect(() => assertVariables({ fs: { read: [`a/{${name}}/b`] } })).toThrow(UnknownVariableError)
      }),
    )
  })
})

describe('compileRequirements', () => {
  it('replaces variables in paths and hosts and nothing else', () => {
    expect(
      compileRequirements(
        {
          fs: { read: ['{workspace}/**', '{ad-hoc}/**'], write: ['{scratch}/**'] },
          net: { hosts: ['*.example.com'] },
          shell: [{ cmd: 'git' }],
          capabilities: ['x'],
        },
        values,
      ),
    ).toEqual({
      fs: { read: ['/w/**', '/extra/**'], write: ['/tmp/s/**'] },
      net: { hosts: ['*.example.com'] },
      shell: [{ cmd: 'git' }],
      capabilities: ['x'],
    })
  })

  it('fails closed: an empty variable leaves an empty scope, not an absent one', () => {
    expect(compileRequirements({ fs: { read: ['{ad-hoc}/**'] } }, values)).toEqual({ fs: { read: [] } })
    expect(compileRequirements({ fs: { read: ['{workspace}/**'] } }, {})).toEqual({ fs: { read: [] } })
  })
})
