import { describe, expect, it } from 'vitest'
import { readArgs } from './args.js'
import type { OptionSpec } from './command.js'

const specs: readonly OptionSpec[] = [
  { name: 'model', short: 'm', value: 'name', summary: '' },
  { name: 'allow', value: 'rule', repeatable: true, summary: '' },
  { name: 'mode', value: 'mode', choices: ['plan', 'full'], summary: '' },
  { name: 'max-rounds', value: 'n', summary: '' },
  { name: 'json', short: 'j', summary: '' },
]

describe('the arguments of a command', () => {
  it('are parsed in every usual form', () => {
    const args = readArgs(
      ['a', '--model=x/y', '--allow', 'bash(ls)', 'b', '--allow=edit', '-j', '--', '--json'],
      specs,
    )
    expect(args.positionals).toEqual(['a', 'b', '--json'])
    expect([args.value('model'), args.values('allow'), args.has('json')]).toEqual([
      'x/y',
      ['bash(ls)', 'edit'],
      true,
    ])
    expect(readArgs(['-m', 'x', '-'], specs).positionals).toEqual(['-'])
    expect(readArgs(['--max-rounds', '7'], specs).count('max-rounds')).toBe(7)
    expect(args.after(1).positionals).toEqual(['b', '--json'])
    expect(args.with({ model: 'z' }).value('model')).toBe('z')
  })

  it.each([
    [['--modle', 'x'], 'Unknown option "--modle".'],
    [['-x'], 'Unknown option "-x".'],
    [['--model'], '--model needs a value: --model <name>.'],
    [['--model', 'a', '-m', 'b'], '--model can be given only once.'],
    [['--json=yes'], '--json takes no value.'],
    [['--mode', 'ful'], '--mode takes "plan" or "full", not "ful".'],
  ])('are rejected with a message: %j', (argv, message) => {
    expect(() => readArgs(argv, specs)).toThrow(expect.objectContaining({ message, exitCode: 2 }))
  })

  it('suggest the option that was probably meant', () => {
    expect(() => readArgs(['--modle', 'x'], specs)).toThrow(
      expect.objectContaining({ hint: 'Did you mean "--model" or "--mode"?', exitCode: 2 }),
    )
  })

  it.each(['0', '-1', '1.5', 'x', ''])('reject %j as a count', (text) => {
    expect(() => readArgs([`--max-rounds=${text}`], specs).count('max-rounds')).toThrow(
      'positive whole number',
    )
  })
})
