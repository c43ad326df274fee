import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { fittingHead } from './fitting-head.js'

it('does not change a text that fits', () => {
  expect(fittingHead('a "b"\n', 100)).toBe('a "b"\n')
})

it('keeps the start and the end, and says that something is missing', () => {
  const text = `begin${'"\n'.repeat(50_000)}end`
  const head = fittingHead(text, 10_000)
  expect(head).toMatch(/^begin.*\[\.\.\. \d+ characters left out \.\.\.\].*end$/s)
  expect(Buffer.byteLength(JSON.stringify(head))).toBeGreaterThan(8_000)
})

it('fits the limit for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 3_000 }), (text) => {
      const head = fittingHead(text.repeat(3), 1_000)
      expect(Buffer.byteLength(JSON.stringify(head))).toBeLessThanOrEqual(1_000)
    }),
  )
})
