import { describe, expect, it } from 'vitest'
import { Args } from '../args.js'
import { hasCostQuota, tenantQuotasOf } from './tenant-quotas.js'

describe('the quotas of tenants on the command line', () => {
  const read = (options: Readonly<Record<string, string[] | undefined>>) =>
    tenantQuotasOf(new Args([], new Map(Object.entries(options).map(([name, texts = []]) => [name, texts]))))

  it('are tokens and dollars per period, and can differ by tier', () => {
    expect(read({})).toBeUndefined()
    const quotas = read({
      'tenant-quota': ['200k', '5usd'],
      'tier-quota': ['gold=2m', 'gold=100usd', 'free=10k'],
      'quota-period': ['month'],
    })
    expect(quotas).toEqual({
      period: 'month',
      default: { tokens: 200_000, costUsd: 5 },
      tiers: { gold: { tokens: 2_000_000, costUsd: 100 }, free: { tokens: 10_000 } },
    })
    expect(quotas && hasCostQuota(quotas)).toBe(true)
    const tokens = read({ 'tier-quota': ['free=10k'] })
    expect(tokens).toEqual({ period: 'day', tiers: { free: { tokens: 10_000 } } })
    expect(tokens && hasCostQuota(tokens)).toBe(false)
  })

  it.each([
    [{ 'tenant-quota': ['5'] }, '--tenant-quota takes an amount with a unit'],
    [{ 'tier-quota': ['gold'] }, '--tier-quota takes TIER=AMOUNT'],
    [{ 'tier-quota': ['gold=5'] }, '--tier-quota takes an amount with a unit'],
    [{ 'quota-period': ['week'] }, '--quota-period takes day or month'],
  ])('are rejected when they are ambiguous: %j', (options, message) => {
    expect(() => read(options)).toThrow(message)
  })
})
