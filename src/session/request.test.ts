import { describe, expect, it } from 'vitest'
import { readRequest } from './request.js'

describe('a request', () => {
  it('is the same as text, as an object, and with the options as a second argument', () => {
    const { signal } = new AbortController()
    const attachments = [{ data: 'QQ==', mediaType: 'image/png' }]
    const expected = {
      text: 'hi',
      message: {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', data: 'QQ==', mediaType: 'image/png' },
        ],
      },
      signal,
    }
    expect(readRequest({ prompt: 'hi', attachments, signal })).toEqual(expected)
    expect(readRequest('hi', { attachments, signal })).toEqual(expected)
    expect(readRequest({ prompt: 'hi', attachments }, { signal })).toEqual(expected)
    expect(readRequest('hi').history).toBeUndefined()
  })

  it('can continue a history, given as a list or by name', () => {
    const history = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] }]
    for (const request of [readRequest('hi', history), readRequest('hi', { history })])
      expect(request.history).toEqual([{ role: 'user', content: [{ type: 'text', text: 'before' }] }])
    expect(readRequest('hi', []).history).toEqual([])
  })

  it.each([
    ['bytes', Buffer.from('Grüße')],
    ['base64', Buffer.from('Grüße').toString('base64')],
    ['the text', 'Grüße'],
    ['a word that could be base64', 'test', 'test'],
    ['a word that is base64 of control characters', 'AQID', 'AQID'],
  ])('accepts a text file as %s', (_name, data, text = 'Grüße') => {
    const [, part] = readRequest('x', { attachments: [{ data, mediaType: 'text/plain', name: 'a.txt' }] })
      .message.content
    expect(part).toEqual({ type: 'document', data: text, mediaType: 'text/plain', name: 'a.txt' })
  })

  it('decodes a text that is also valid base64 as the caller says', () => {
    const data = Buffer.from('Grüße').toString('base64')
    const read = (encoding: 'utf8' | 'base64') =>
      readRequest('x', { attachments: [{ data, mediaType: 'text/plain', encoding }] }).message.content[1]
    expect(read('utf8')).toMatchObject({ data })
    expect(read('base64')).toMatchObject({ data: 'Grüße' })
    expect(() => read('latin1' as never)).toThrow('encoding of an attachment must be "utf8" or "base64"')
  })

  it('keeps bytes unchanged, and sends a file that is not an image as a document with its name', () => {
    const data = new Uint8Array([0, 255, 128])
    expect(
      readRequest('x', { attachments: [{ data, mediaType: 'application/pdf', name: 'a.pdf' }] }).message
        .content[1],
    ).toEqual({ type: 'document', data: 'AP+A', mediaType: 'application/pdf', name: 'a.pdf' })
    // Part of a larger buffer, as files are often read.
    const part = Buffer.from('xxABCxx').subarray(2, 5)
    expect(
      readRequest('x', { attachments: [{ data: part, mediaType: 'image/png' }] }).message.content[1],
    ).toEqual({
      type: 'image',
      data: Buffer.from('ABC').toString('base64'),
      mediaType: 'image/png',
    })
  })

  it.each([undefined, null, 5, {}, { prompt: 5 }, ['a']])(
    'requires a prompt that is a string: %j',
    (request) => {
      expect(() => readRequest(request as never)).toThrow(TypeError)
    },
  )
})
