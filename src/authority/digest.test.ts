import { expect, it } from 'vitest'
import { sha256 } from './digest.js'

const texts = ['', 'a', 'ä€🙂', 'a lone \ud800 surrogate', 'x'.repeat(100_000)]

it('is the same digest with and without the crypto module of Node', async () => {
  expect(await sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  for (const text of texts) expect(await sha256(text)).toBe(await withoutNode(() => sha256(text)))
})

/** Another runtime has no modules of Node. The digest looks for them before it waits for anything. */
function withoutNode<T>(call: () => T): T {
  const { getBuiltinModule } = process
  Object.assign(process, { getBuiltinModule: undefined })
  try {
    return call()
  } finally {
    Object.assign(process, { getBuiltinModule })
  }
}
