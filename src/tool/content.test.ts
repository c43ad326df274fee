import { describe, expect, it } from 'vitest'
import { isToolResultContentArray, toolResultContentToText } from './content.js'

describe('isToolResultContentArray', () => {
  it.each([
    [[{ type: 'text', text: 'a' }], true],
    [[{ type: 'image', data: 'AAAA' }], true],
    [
      [
        { type: 'text', text: 'a' },
        { type: 'image', data: 'AAAA', mediaType: 'image/webp' },
      ],
      true,
    ],
    [[], false],
    [[{ type: 'audio', data: 'AAAA' }], false],
    [
      [
        { type: 'text', text: 'a' },
        { type: 'file', data: 'AAAA' },
      ],
      false,
    ],
    [[{ type: 'text' }], false],
    [[{ type: 'image', data: 'AAAA', mediaType: 3 }], false],
    [[null], false],
    [{ type: 'text', text: 'a' }, false],
    ['text', false],
  ])('recognises only text and image blocks: %j is %s', (value, expected) => {
    expect(isToolResultContentArray(value)).toBe(expected)
  })
})

describe('toolResultContentToText', () => {
  it('joins texts and names images by their media type', () => {
    expect(
      toolResultContentToText([
        { type: 'text', text: 'before' },
        { type: 'image', data: 'AAAA', mediaType: 'image/webp' },
        { type: 'image', data: 'AAAA' },
      ]),
    ).toBe('before\n[image:image/webp]\n[image:image/png]')
  })
})
