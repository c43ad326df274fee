import { describe, expect, it } from 'vitest'
import { roughly } from './run/figures.js'
import { statusLine } from './status-line.js'

const chat = (mode?: 'plan') => ({
  modelName: 'anthropic/claude-sonnet-5-5',
  mode,
  totals: { tokens: 12_540, costUsd: 0.0435 },
})

describe('the status line', () => {
  it.each([
    [100, 'anthropic/claude-sonnet-5-5 · default · 12,540 tokens · $0.0435 · Esc: cancel'],
    [70, 'anthropic/claude-sonnet-5-5 · default · 12,540 tokens · $0.0435'],
    [52, 'claude-sonnet-5-5 · default · 12.5k tokens · $0.0435'],
    [45, 'claude-sonnet-5-5 · 12.5k tokens · $0.0435'],
    [39, '12.5k tokens · $0.0435'],
  ])('fits the model, mode, tokens and cost into %i columns', (columns, line) => {
    expect(statusLine(chat(), true, columns)).toBe(line)
  })

  it('always shows a mode that is not the default', () => {
    expect(statusLine(chat('plan'), false, 30)).toBe('plan · 12.5k tokens · $0.0435')
  })

  it.each([
    [950, '950'],
    [1_000, '1.0k'],
    [99_960, '100k'],
    [999_499, '999k'],
    [999_500, '1.0M'],
    [3_120_000, '3.1M'],
  ])('formats %i as %s', (count, text) => {
    expect(roughly(count)).toBe(text)
  })
})
