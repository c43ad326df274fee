import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import type { Message } from './channel.js'
import { LineReader } from './line-reader.js'

const limits = { maxLineBytes: 1_000, maxNoiseBytes: 2_000 }

function read(bytes: Buffer, cuts: readonly number[]): { messages: Message[]; problem: string | undefined } {
  const messages: Message[] = []
  const reader = new LineReader((message) => messages.push(message), limits)
  let problem: string | undefined
  let from = 0
  for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    problem ??= reader.add(bytes.subarray(from, cut))
    from = cut
  }
  return { messages, problem }
}

describe('lines of JSON', () => {
  it('are the same for any split of the stream', () => {
    const line = fc.oneof(
      fc
        .record({
          jsonrpc: fc.constant('2.0'),
          id: fc.nat(),
          result: fc.string({ unit: anyCharacter, maxLength: 40 }),
        })
        .map((one) => JSON.stringify(one)),
      fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => text.replaceAll('\n', ' ')),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 20 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''))
        expect(read(bytes, cuts)).toEqual(read(bytes, []))
      }),
    )
  })

  it('skip what is not a message', () => {
    const text = 'hello\n\n{"a":1}\n[1]\n{"jsonrpc":"1.0"}\n{"jsonrpc":"2.0","id":1}\r\nnull\n'
    expect(read(Buffer.from(text), []).messages).toEqual([{ jsonrpc: '2.0', id: 1 }])
  })

  it('end at a line that is too long, or after too many invalid ones', () => {
    expect(read(Buffer.alloc(1_001, 'x'), []).problem).toContain('more than 1000 bytes')
    expect(read(Buffer.from('x\n'.repeat(500)), []).problem).toBeUndefined()
    expect(read(Buffer.from(`${'x'.repeat(300)}\n`.repeat(10)), []).problem).toContain(
      'bytes that are not messages',
    )
  })
})
