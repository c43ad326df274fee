import { expect, it } from 'vitest'
import { colorsFor } from './colors.js'

const terminal = { stdin: true, stdout: true, stderr: false }

it.each([
  ['a terminal', {}, 'stdout', true],
  ['no terminal', {}, 'stderr', false],
  ['NO_COLOR', { NO_COLOR: '1' }, 'stdout', false],
  ['an empty NO_COLOR', { NO_COLOR: '' }, 'stdout', true],
  ['a dumb terminal', { TERM: 'dumb' }, 'stdout', false],
  ['FORCE_COLOR', { FORCE_COLOR: '1' }, 'stderr', true],
  ['both', { FORCE_COLOR: '1', NO_COLOR: '1' }, 'stdout', false],
] as const)('with %s', (_, env, stream, enabled) => {
  const { red, enabled: isEnabled } = colorsFor({ env, isTTY: terminal }, stream)
  expect(isEnabled).toBe(enabled)
  expect(red('x')).toBe(enabled ? '\u001b[31mx\u001b[39m' : 'x')
})
