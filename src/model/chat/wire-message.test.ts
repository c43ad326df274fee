import { describe, expect, it } from 'vitest'
import type { UserContent } from '../../tool/completion.js'
import { wireMessage } from './wire-message.js'

const style = { facts: { images: true, documents: true }, dialect: {} }
const content = (...parts: UserContent[]): unknown =>
  wireMessage({ role: 'user', content: parts }, style).messages[0]?.['content']

describe('a user message on the wire', () => {
  it('is a string if it is only text, because many servers accept nothing else', () => {
    expect(content({ type: 'text', text: 'one' }, { type: 'text', text: 'two' })).toBe('one\n\ntwo')
  })

  it('is a list if it has an image, and if it is empty', () => {
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const
    expect(content({ type: 'text', text: 'one' }, image)).toMatchObject([
      { type: 'text' },
      { type: 'image_url' },
    ])
    expect(content()).toEqual([])
  })
})
