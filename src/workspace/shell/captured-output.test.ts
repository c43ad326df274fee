import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { CapturedOutput, type CaptureOptions, wholeCharacters } from './captured-output.js'

let place: string
let count = 0
beforeEach(() => {
  place = temporaryDirectory()
})

async function newFile(): Promise<string> {
  const path = join(place, `file-${++count}`)
  writeFileSync(path, '')
  return path
}

function capture(options: Partial<CaptureOptions> = {}): CapturedOutput {
  return new CapturedOutput({ maxBytes: 20, maxFileBytes: 1_000_000, newFile, ...options })
}

async function feed(output: CapturedOutput, chunks: readonly Uint8Array[]): Promise<void> {
  for (const chunk of chunks) await output.append(Buffer.from(chunk))
  await output.end()
}

describe('CapturedOutput', () => {
  it('has the same start, end, file and stream for any split of the bytes', async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 2, max: 64 }), async (chunks, maxBytes) => {
        const all = Buffer.concat(chunks)
        let streamed = ''
        const cut = capture({ maxBytes, onText: (text) => (streamed += text) })
        const whole = capture({ maxBytes })
        await feed(cut, chunks)
        await feed(whole, all.length === 0 ? [] : [all])
        expect(cut.bytes).toBe(all.length)
        expect(cut.truncated).toBe(all.length > maxBytes)
        expect(streamed).toBe(new TextDecoder().decode(all))
        const neutral = (output: CapturedOutput): string => output.text().replace(output.path ?? '', 'PATH')
        expect(neutral(cut)).toBe(neutral(whole))
        if (cut.path !== undefined) expect(readFileSync(cut.path).equals(all)).toBe(true)
        const from = Math.floor(all.length / 2)
        expect((await cut.read(from, 10)).bytes.equals(all.subarray(from, from + 10))).toBe(true)
        await Promise.all([cut.close(), whole.close()])
      }),
      { numRuns: propertyRuns(150) },
    )
  })

  it('keeps no more in memory than its limit, whatever arrives', async () => {
    const output = capture({ maxBytes: 100, maxFileBytes: 1000 })
    await feed(
      output,
      Array.from({ length: 100 }, () => Buffer.alloc(1000, 'x')),
    )
    expect(output.text().length).toBeLessThan(400)
    expect(output.text()).toMatch(/holds the first 1000, its limit/)
    expect(readFileSync(output.path ?? '').length).toBe(1000)
    expect((await output.read(99_950, 10)).from).toBe(99_950)
    expect((await output.read(5000, 10)).from).toBe(99_950)
    await output.close()
  })

  it('continues without a file when none can be created, and reports it', async () => {
    const output = capture({
      newFile: async () => {
        throw new Error('disk full')
      },
    })
    await feed(output, [Buffer.from('0123456789'.repeat(5))])
    expect(output.text()).toMatch(
      /^0123456789\n\[… 30 bytes left out; they could not be kept in a file: disk full …\]\n0123456789$/,
    )
    expect(output.path).toBeUndefined()
  })

  it('does not split a character', async () => {
    const output = capture({ maxBytes: 21 })
    await feed(output, [Buffer.from('é'.repeat(40))])
    expect(output.text()).toMatch(/^éééé?é\n\[…/)
    expect(output.text()).not.toContain('\uFFFD')
    await output.close()
  })
})

describe('wholeCharacters', () => {
  it('removes exactly the incomplete part', () => {
    for (const text of ['a', 'é', '→', '😀', 'a😀']) {
      const bytes = Buffer.from(text)
      expect(wholeCharacters(bytes)).toEqual(bytes)
      if (bytes.length > text.length)
        expect(wholeCharacters(bytes.subarray(0, -1)).length).toBeLessThan(bytes.length - 1 + 1)
    }
    expect(wholeCharacters(Buffer.from([0x61, 0xf0, 0x9f])).toString()).toBe('a')
    expect(wholeCharacters(Buffer.from([0xff, 0xff]))).toEqual(Buffer.from([0xff]))
  })
})
