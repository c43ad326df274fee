import fc from 'fast-check'
import { expect, it } from 'vitest'
import { selectTop } from './select-top.js'

it('returns the same as sorting everything, ties in order, for any size', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined }), { maxLength: 200 }),
      fc.integer({ min: 1, max: 120 }),
      (scores, topK) => {
        const expected = scores
          .flatMap((score, at) => (score === undefined ? [] : [{ at, score }]))
          .toSorted((a, b) => b.score - a.score || a.at - b.at)
          .slice(0, topK)
        expect(selectTop(scores.length, topK, (at) => scores[at])).toEqual(expected)
      },
    ),
  )
})
