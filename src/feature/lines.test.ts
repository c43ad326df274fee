import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Lines } from './lines.js'

it('returns the same lines for any split of the stream', () => {
  const line = fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter((text) => !/[\n\r]/.test(text) && text.trim() !== '')
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(9)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
      const seen: string[] = []
      const reader = new Lines((text) => void seen.push(text), 1_000)
      let at = 0
      for (const cut of [...cuts, bytes.length]) {
        expect(reader.add(bytes.subarray(at, at + cut))).toBeUndefined()
        at += cut
      }
      expect(seen).toEqual(lines)
    }),
  )
})

it('reports a line that is too long, also before its end arrives', () => {
  const reader = new Lines(() => undefined, 10)
  expect(reader.add(Buffer.from('0123456789\n'))).toBeUndefined()
  expect(reader.add(Buffer.from('01234567890'))).toBe('it sent a message of more than 10 bytes')
})
