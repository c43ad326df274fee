import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { spellings, type Table } from './field.js'
import { agentShape } from './tables/agent-table.js'

const document = new URL('../../../docs/configuration.md', import.meta.url)
const tables = /<!-- fields of (.+?) -->\n[\s\S]*?<!-- end of fields -->/g

describe('docs/configuration.md', () => {
  const text = readFileSync(document, 'utf8')
  const written = text.replace(
    tables,
    (_, place: string) => `<!-- fields of ${place} -->\n${tableOf(place)}\n<!-- end of fields -->`,
  )
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(document, written)

  it('has the description of every field from the tables (UPDATE_DOCS=1 writes them)', () => {
    expect(process.env['UPDATE_DOCS'] === '1' ? written : text).toBe(written)
  })

  it('has a table for every block with fields', () => {
    const places = [...text.matchAll(tables)].map(([, place]) => place)
    expect(places.toSorted()).toEqual(['the document', ...ownTables(agentShape, '')].toSorted())
  })
})

/** Labelled blocks and every block of the document have a table; other blocks are part of the table of their parent. */
function ownTables(table: Table, path: string): string[] {
  return Object.entries(table).flatMap(([key, field]) => {
    const { fields, readAll } = field.kind
    if (fields === undefined) return []
    const place = `${path}${spellings(key, field)[0]}`
    const inside = ownTables(fields, `${place}.`)
    return path === '' || readAll !== undefined ? [place, ...inside] : inside
  })
}

function tableOf(place: string): string {
  const names = place === 'the document' ? [] : place.split('.')
  let table: Table = agentShape
  for (const name of names) {
    const found = Object.entries(table).find(([key, field]) => spellings(key, field)[0] === name)
    if (found?.[1].kind.fields === undefined) throw new Error(`The configuration has no block ${place}`)
    table = found[1].kind.fields
  }
  const rows = rowsOf(table, '', names.length > 0)
  return ['| field | also | value | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function rowsOf(table: Table, prefix: string, deep: boolean): string[] {
  return Object.entries(table).flatMap(([key, field]) => {
    const { kind, means } = field
    const [name = key, ...others] = spellings(key, field).filter((each) => !/[A-Z]/.test(each))
    const also = others.map((each) => `\`${each}\``).join(', ')
    const own = `| \`${prefix}${name}\` | ${also} | ${kind.expects} | ${means} |`
    if (kind.fields === undefined || kind.readAll !== undefined || !deep) return [own]
    return [own, ...rowsOf(kind.fields, `${prefix}${name}.${kind.named ? '*.' : ''}`, true)]
  })
}
