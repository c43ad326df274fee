import { describe, expect, it } from 'vitest'
import type { UserContent } from '../../tool/completion.js'
import { wireMessage } from './wire-message.js'

const style = { facts: { images: true, documents: true }, dialect: {} }
const content = (...parts: UserContent[]): unknown =>
  wireMessage({ role: 'user', content: parts }, style).messages[0]?.['content']

describe('what a user says on the wire', () => {
  it('is a string as long as it is text alone, since many servers read nothing else', () => {
    expect(content({ type: 'text', text: 'one' }, { type: 'text', text: 'two' })).toBe('one\n\ntwo')
  })

  it('is a list with an image in it, and when there is nothing', () => {
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const
    expect(content({ type: 'text', text: 'one' }, image)).toMatchObject([
      { type: 'text' },
      { type: 'image_url' },
    ])
    expect(content()).toEqual([])
  })
})
