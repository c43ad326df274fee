import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { rowsBetween } from './page-table.js'

const page = readFileSync('docs/migration.md', 'utf8')
const reference = readFileSync('docs/reference.md', 'utf8')

describe('the page for users of other systems', () => {
  it.each(['sessions', 'tools', 'contract'])('names in its table of %s only what exists', (table) => {
    const named = rowsBetween(page, table).flatMap(([, here = '']) => [...here.matchAll(/`(?:\w+\.)?(\w+)/g)])
    expect(named.length).toBeGreaterThan(10)
    const missing = named.flatMap(([, name = '']) =>
      new RegExp(`\`(static |class )?${name}\\b`).test(reference) ? [] : [name],
    )
    expect(missing).toEqual([])
  })
})
