import { describe, expect, it } from 'vitest'
import { errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { boundOutput, defaultMaxBytes } from './bound-output.js'

/** Keeps what was spilled. */
function spillway(): {
  spilled: (string | Uint8Array)[]
  spill: (label: string, data: string | Uint8Array) => Promise<string>
} {
  const spilled: (string | Uint8Array)[] = []
  return {
    spilled,
    spill: async (label, data) => {
      spilled.push(data)
      return `scratch/${label}-${spilled.length}`
    },
  }
}

describe('boundOutput', () => {
  it('does not change output within the limit', async () => {
    const { spill, spilled } = spillway()
    for (const envelope of [
      outputEnvelope('short'),
      outputEnvelope({ a: 1 }),
      errorEnvelope('no'),
      outputEnvelope([1, 2]),
    ]) {
      expect(await boundOutput('t', envelope, { maxBytes: 100, maxItems: 2 }, spill)).toBe(envelope)
    }
    expect(spilled).toEqual([])
  })

  it('keeps the start of a text and writes all of it to a file', async () => {
    const { spill, spilled } = spillway()
    const text = 'x'.repeat(500)
    const bounded = await boundOutput(
      'bash',
      outputEnvelope(text, { exit_code: 1, duration_ms: 3 }),
      { maxBytes: 100 },
      spill,
    )
    expect(bounded).toEqual({
      type: 'output',
      data: { head: 'x'.repeat(100), bytes: 500 },
      metadata: { exit_code: 1, duration_ms: 3, truncated: true, output_path: 'scratch/bash-1' },
    })
    expect(spilled).toEqual([text])
  })

  it('counts bytes, and cuts between characters', async () => {
    const { spill } = spillway()
    const bounded = await boundOutput('t', outputEnvelope('é💡'.repeat(50)), { maxBytes: 10 }, spill)
    expect(bounded).toMatchObject({ data: { head: 'é💡é', bytes: 300 } })
  })

  it('has a default limit for tools without one', async () => {
    const { spill, spilled } = spillway()
    await boundOutput('t', outputEnvelope('x'.repeat(defaultMaxBytes)), {}, spill)
    expect(spilled).toEqual([])
    await boundOutput('t', outputEnvelope('x'.repeat(defaultMaxBytes + 1)), {}, spill)
    expect(spilled).toHaveLength(1)
  })

  it('cuts lists by their number of items: one item above the limit is enough', async () => {
    const { spill, spilled } = spillway()
    const bounded = await boundOutput('glob', outputEnvelope(['a', 'b', 'c']), { maxItems: 2 }, spill)
    expect(bounded).toMatchObject({
      data: { head: ['a', 'b'], total: 3 },
      metadata: { truncated: true, output_path: 'scratch/glob-1' },
    })
    expect(spilled).toEqual(['["a","b","c"]'])
  })

  it('describes binary data, and saves the bytes unchanged in the file', async () => {
    const { spill, spilled } = spillway()
    const bytes = new Uint8Array([0xff, 0xfe, 0x41, 0x00, 0xc3])
    for (const maxBytes of [3, 1_000]) {
      const bounded = await boundOutput('t', outputEnvelope(bytes), { maxBytes }, spill)
      expect(bounded).toMatchObject({ data: { binary: true, bytes: 5, output_path: expect.any(String) } })
    }
    expect(spilled).toEqual([bytes, bytes])
  })

  it('reads bytes that are valid text as text', async () => {
    const { spill, spilled } = spillway()
    const bytes = new TextEncoder().encode('größer')
    expect(await boundOutput('t', outputEnvelope(bytes), {}, spill)).toMatchObject({ data: 'größer' })
    const bounded = await boundOutput('t', outputEnvelope(bytes), { maxBytes: 3 }, spill)
    expect(bounded).toMatchObject({ data: { head: 'gr', bytes: 8 }, metadata: { truncated: true } })
    expect(spilled).toEqual([bytes])
  })

  it('keeps images and divides the limit among the texts around them', async () => {
    const { spill, spilled } = spillway()
    const image = { type: 'image' as const, data: 'A'.repeat(1000) }
    const bounded = await boundOutput(
      't',
      outputEnvelope([{ type: 'text', text: 'abcdef' }, image, { type: 'text', text: 'ghijkl' }]),
      { maxBytes: 8 },
      spill,
    )
    expect(bounded).toMatchObject({
      data: [{ type: 'text', text: 'abcdef' }, image, { type: 'text', text: 'gh' }],
      metadata: { truncated: true },
    })
    expect(spilled).toEqual(['abcdef\nghijkl'])
  })

  it('limits errors too', async () => {
    const { spill } = spillway()
    expect(await boundOutput('t', errorEnvelope('x'.repeat(300)), { maxBytes: 10 }, spill)).toMatchObject({
      error_text: 'x'.repeat(10),
      metadata: { truncated: true, output_path: 'scratch/t-1' },
    })
  })

  it('applies the limit in bytes to a few large items as well', async () => {
    const { spill } = spillway()
    const bounded = await boundOutput(
      't',
      outputEnvelope(Array.from({ length: 9 }, () => 'x'.repeat(1000))),
      { maxItems: 5, maxBytes: 100 },
      spill,
    )
    expect(JSON.stringify(bounded).length).toBeLessThan(400)
  })

  it('keeps the start when the rest cannot be written', async () => {
    const bounded = await boundOutput('t', outputEnvelope('x'.repeat(50)), { maxBytes: 10 }, () =>
      Promise.reject(new Error('disk full')),
    )
    expect(bounded).toMatchObject({
      type: 'output',
      data: { head: 'x'.repeat(10) },
      metadata: { truncated: true, spill_error: 'disk full' },
    })
  })

  it('limits the size of metadata', async () => {
    const { spill } = spillway()
    const bounded = await boundOutput(
      't',
      outputEnvelope('x', { exit_code: 3, log: 'y'.repeat(1_000_000) }),
      {},
      spill,
    )
    expect(bounded.metadata).toEqual({ duration_ms: 0, exit_code: 3, metadata_dropped: true })
  })

  it('handles lone surrogates', async () => {
    const { spill } = spillway()
    expect(await boundOutput('t', outputEnvelope('\ud800'.repeat(20)), { maxBytes: 9 }, spill)).toMatchObject(
      { data: { bytes: 60 } },
    )
  })
})
