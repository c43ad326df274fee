import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { renderToolTable, withToolTable } from '../../scripts/tool-table.mjs'
import { createToolbox, extensionTools, toolSearchTool } from '../../src/toolbox/index.js'

const page = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8')
const tools = [...createToolbox(), toolSearchTool, ...extensionTools(true)]

describe('the table of tools in docs/tools.md', () => {
  it('equals the definitions of the tools; if not: build, then node scripts/tool-table.mjs', () => {
    expect(page).toBe(withToolTable(page, renderToolTable(tools)))
  })
})

describe('the built-in tools, as a model sees them', () => {
  it('accept no unknown arguments, and have schemas that every provider accepts', () => {
    for (const { name, parameters } of tools) {
      expect(parameters, name).toMatchObject({ type: 'object', additionalProperties: false })
      expect(Object.keys(parameters), name).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(one|any|all)Of$/)]),
      )
    }
  })

  it('are short: 700 bytes each on average, description and schema', () => {
    const sizes = tools.map(
      ({ description, parameters }) => description.length + JSON.stringify(parameters).length,
    )
    expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeLessThanOrEqual(700)
  })
})

describe('renderToolTable', () => {
  it('puts each tool on its own line, whatever its text', () => {
    const table = renderToolTable([
      {
        name: 'b',
        description: 'Does a | b <c> **d**.\nAnd more.',
        parameters: {
          type: 'object',
          properties: {
            n: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
            how: { type: 'string', enum: ['x', 'y'] },
            list: { type: 'array', items: { type: 'object', properties: { p: {}, q: {} }, required: ['p'] } },
          },
          required: ['how'],
        },
        kind: 'other',
        limits: { maxBytes: 204_800 },
        requires: { net: { hosts: ['*'] } },
      },
      { name: 'a', description: 'No end', parameters: {}, kind: 'read', requires: {} },
    ])
    expect(table.split('\n').slice(2)).toEqual([
      '| `b` | Does a \\| b \\<c> \\*\\*d\\*\\*. | `n`: integer, 1 to 9 (3)<br>`how`: `x`, `y`, required<br>`list`: list of { `p`, `q?` } | 200 KB | `net.fetch` `*` | other |',
      '| `a` | No end | none | usual | nothing | read |',
    ])
  })

  it('rejects a page without markers', () => {
    expect(() => withToolTable('# Tools', '')).toThrow('tools:begin')
  })
})
