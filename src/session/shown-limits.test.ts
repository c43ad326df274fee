import { describe, expect, it } from 'vitest'
import type { AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { allShown, shownLimits } from './shown-limits.js'

const tool = (name: string, description = 'Does something.'): AnyTool =>
  createJsonTool({ name, description, parameters: { type: 'object' }, execute: () => 1 })
const tools = (count: number, prefix = 'host', description?: string): AnyTool[] =>
  Array.from({ length: count }, (_, at) => tool(`${prefix}_${at}`, description))
const isBuiltin = (name: string): boolean => name.startsWith('builtin')
const window = (contextTokens: number, contextAssumed = false) => ({ contextTokens, contextAssumed })

describe('the tools that a model is shown directly', () => {
  it('are all of the built-in ones, however many there are', () => {
    const limits = shownLimits('auto', isBuiltin, () => window(10))
    expect(limits.fit(tools(500, 'builtin'), () => [])).toBe(true)
    expect(limits.basis(tools(500, 'builtin'))).toBe('')
  })

  it('are 20 of the host, of any size, including those that are shown already', () => {
    const limits = shownLimits('auto', isBuiltin, () => window(10))
    expect(limits.fit(tools(20), () => [])).toBe(true)
    expect(limits.fit(tools(21), () => [])).toBe(false)
    expect(limits.fit(tools(1, 'more'), () => tools(20))).toBe(false)
    expect(limits.fit(tools(1, 'more'), () => tools(20, 'builtin'))).toBe(true)
  })

  it('are more when they take at most a tenth of the context window', () => {
    const many = tools(30, 'host', 'word '.repeat(200))
    expect(shownLimits('auto', isBuiltin, () => window(1_000_000)).fit(many, () => [])).toBe(true)
    expect(shownLimits('auto', isBuiltin, () => window(20_000)).fit(many, () => [])).toBe(false)
    // A window that is only assumed counts as one of the usual size.
    expect(shownLimits('auto', isBuiltin, () => window(20_000, true)).fit(tools(30), () => [])).toBe(true)
  })

  it('depend on the context window and the mode, unless there are few', () => {
    const basis = (mode: 'auto' | 'always', contextTokens: number, count: number): string =>
      shownLimits(mode, isBuiltin, () => window(contextTokens)).basis(tools(count))
    expect(basis('auto', 10, 20)).toBe(basis('always', 20, 20))
    expect(basis('auto', 10, 21)).toBe(basis('auto', 10, 22))
    expect(basis('auto', 10, 21)).not.toBe(basis('auto', 20, 21))
    expect(basis('auto', 10, 21)).not.toBe(basis('always', 10, 21))
  })

  it('are all of them when tool search is off', () => {
    for (const limits of [shownLimits('never', isBuiltin, () => window(10)), allShown]) {
      expect(limits.fit(tools(500), () => [])).toBe(true)
      expect(limits.basis(tools(500))).toBe('')
    }
  })
})
