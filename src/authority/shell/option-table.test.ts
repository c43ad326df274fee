import { describe, expect, it } from 'vitest'
import type { Word } from './analysis.js'
import { type OptionTable, parseOptions } from './option-table.js'

const table: OptionTable = {
  options: '-ab -n= -j? --long --value= --color?',
  hazards: { '-o=w --output=w': 'writes a file' },
  numbers: true,
}
const words = (text: string): Word[] =>
  (text === '' ? [] : text.split(' ')).map((word) => ({ text: word, value: word }))
const read = (text: string, using = table): string => {
  const { options, operands } = parseOptions(using, words(text))
  const shown = options.map(
    ({ name, value, problem }) => `${name}${value ? `:${value.value}` : ''}${problem ? '!' : ''}`,
  )
  return `${shown.join(' ')} | ${operands.map((word) => word.value).join(' ')}`
}

describe('parseOptions', () => {
  it.each([
    ['-ab x', '-a -b | x'],
    ['-n5 x', '-n:5 | x'],
    ['-n 5 x', '-n:5 | x'],
    ['-an 5 x', '-a -n:5 | x'],
    ['-j x', '-j | x'],
    ['-j4 x', '-j:4 | x'],
    ['--value=v x', '--value:v | x'],
    ['--value v x', '--value:v | x'],
    ['--color x', '--color | x'],
    ['--color=always x', '--color:always | x'],
    ['x -a y', '-a | x y'],
    ['-a -- -b', '-a | -b'],
    ['- -a', '-a | -'],
    ['-5 x', ' | x'],
    ['-of x', '-o:f! | x'],
    ['-abof x', '-a -b -o:f! | x'],
    ['--output=f', '--output:f! | '],
    ['--outp f x', '--output:f! | x'],
    ['--lon', '--lon! | '],
    ['-z x', '-z! | x'],
    ['--wat=1', '--wat:1! | '],
  ])('%s', (text, expected) => expect(read(text)).toBe(expected))

  it('stops at the first operand when the rest belongs to another program', () => {
    expect(read('-a x -o y', { ...table, stops: true })).toBe('-a | x -o y')
  })

  it('reads long options with one dash for commands that use them', () => {
    const go: OptionTable = {
      options: '--run= --v',
      hazards: { '--exec=': 'runs another program' },
      singleDash: true,
    }
    expect(read('-v -run X --run=Y -exec z p', go)).toBe('-v -run:X --run:Y -exec:z! | p')
  })
})
