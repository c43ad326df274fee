import { describe, expect, it } from 'vitest'
import { readLimits } from './command-limits.js'

describe('--limit', () => {
  it('accepts sizes, numbers, durations, and none', () => {
    expect(readLimits(['memory=1.5g', 'processes=500', 'cpu=10m', 'disk=none', 'file=64MiB'])).toEqual({
      memoryBytes: 1.5 * 1024 ** 3,
      processes: 500,
      cpuSeconds: 600,
      diskBytes: Number.POSITIVE_INFINITY,
      fileBytes: 64 * 1024 ** 2,
    })
    expect(readLimits([])).toBeUndefined()
  })

  it.each(['memory', 'memory=', 'memory=-1', 'memory=0', 'speed=3', 'processes=1.5', 'cpu=3', 'toString=1'])(
    'refuses %s',
    (text) => {
      expect(() => readLimits([text])).toThrow('--limit takes')
    },
  )
})
