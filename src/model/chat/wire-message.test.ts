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

  it('has audio, video and files each in the form of the protocol, and a note where the model takes none', () => {
    const parts: UserContent[] = [
      { type: 'document', data: 'aGk=', mediaType: 'audio/mpeg', name: 'a.mp3' },
      { type: 'document', data: 'data:audio/x-wav;base64,aGk=', mediaType: 'audio/x-wav' },
      { type: 'document', data: 'aGk=', mediaType: 'video/mp4', name: 'a.mp4' },
      { type: 'document', data: 'aGk=', name: 'a.pdf' },
      { type: 'document', data: '{}', mediaType: 'application/json', name: 'a.json' },
    ]
    const facts = { images: true, documents: true, audio: true, video: true }
    const user = { role: 'user', content: parts } as const
    expect(wireMessage(user, { ...style, facts }).messages[0]?.['content']).toEqual([
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'data:video/mp4;base64,aGk=' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
      { type: 'text', text: '<document name="a.json">\n{}\n</document>' },
    ])
    const none = { images: false, documents: false }
    const left = JSON.stringify(wireMessage(user, { ...style, facts: none }))
    expect(left.match(/which this model cannot read/g)).toHaveLength(4)
    expect(left).not.toContain('aGk=')
  })
})
