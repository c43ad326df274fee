import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { componentSchemas } from '../../src/server/schemas.js'
import { nameIn, rowsBetween } from '../docs/page-table.js'
import { pythonTypes, snake } from './python-types.js'

const folder = 'clients/python/src/capstan'

it('the types of the Python package are those of the schemas and of the table of events', () => {
  const rows = rowsBetween(readFileSync('docs/events.md', 'utf8'), 'events')
  const events = Object.fromEntries(
    rows.map(([type = '', fields = '']) => [
      nameIn(type),
      [...fields.matchAll(/`(\w+)\??`/g)].map(([, name = '']) => name),
    ]),
  )
  const source = pythonTypes(componentSchemas, events)
  const file = `${folder}/types.py`
  if (process.env['UPDATE_PYTHON'] === '1') writeFileSync(file, source)
  expect(readFileSync(file, 'utf8')).toBe(source)
})

it('the SessionOptions of the Python package have every option of the SDK that is not code of Node', () => {
  const page = readFileSync('docs/sessions.md', 'utf8')
  const known = ['options', 'limits'].flatMap((name) => rowsBetween(page, name).map(([cell]) => nameIn(cell)))
  const source = readFileSync(`${folder}/_options.py`, 'utf8')
  const [, body = ''] = /class SessionOptions:([\s\S]*?)def __init__/.exec(source) ?? []
  const fields = [...body.matchAll(/^ {4}(\w+): /gm)].map(([, name = '']) => name)
  const expected = known.filter((name) => !onlyInNode.has(name)).map(snake)
  expect(fields.sort()).toEqual(expected.sort())
})

/** Functions that the loop calls synchronously or often, and objects that only Node has. */
const onlyInNode: ReadonlySet<string> = new Set([
  'approvals',
  'mcp',
  'middleware',
  'signal',
  'stopWhen',
  'watchdog',
])
