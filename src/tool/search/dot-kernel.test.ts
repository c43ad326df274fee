import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import wabt from 'wabt'
import { dotKernelBase64 } from './dot-kernel.js'

it('the compiled kernel is what its source says', async () => {
  const source = readFileSync(new URL('./dot-kernel.wat', import.meta.url), 'utf8')
  const { buffer } = (await wabt()).parseWat('dot-kernel.wat', source, { simd: true }).toBinary({})
  expect(Buffer.from(buffer).toString('base64')).toBe(dotKernelBase64)
})
