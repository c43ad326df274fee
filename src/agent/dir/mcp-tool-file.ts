import { serverLabel } from '../../mcp/names.js'
import { readServer } from '../../mcp/server-options.js'
import { messageOf } from '../../tool/errors.js'
import type { Item } from '../config/acl/ast.js'
import type { McpServerConfig } from '../config/config.js'
import { spellings } from '../config/field.js'
import { itemsOfObject } from '../config/from-object.js'
import { type Environment, startReading } from '../config/reading.js'
import { mcpServers } from '../config/tables/mcp-table.js'
import type { FileFields } from './fields.js'
import { withVariables } from './variables.js'

/** The fields in which `${NAME}` is replaced by a variable. */
const withSecrets = ['args', 'env', 'url', 'headers', 'oauth']

/** Reads a tool file of `kind: mcp`, which has the fields of `mcp_servers` in a configuration. */
export function readMcpTool(
  name: string,
  fields: FileFields,
  env: Environment,
  used: Set<string>,
): McpServerConfig | undefined {
  const table = mcpServers.fields ?? {}
  const own = Object.entries(table).flatMap(([key, field]) => spellings(key, field))
  fields.refuseOthers(['kind', 'name', 'description', ...own])
  if (serverLabel(name) === undefined || name.length > 100)
    return fields.fail('name must be 1 to 100 characters, a letter or digit among them', fields.named('name'))
  // The description is read with the body of the file.
  const given = Object.entries(fields.all).filter(([key]) => own.includes(key) && key !== 'description')
  const items = itemsOfObject(
    Object.fromEntries(
      given.map(([key, value]) => [
        key,
        withSecrets.includes(key)
          ? withVariables(value, key, fields, env, used)
          : withoutVariables(value, key, fields),
      ]),
    ),
  ).map((item) => placed(item, item.name, fields))
  const reading = startReading(env, '/')
  const body = { type: 'object' as const, items }
  const block = { type: 'block' as const, name: 'mcp', labels: [{ text: name }], body }
  const [server] = mcpServers.readAll?.([block], { path: 'mcp' }, reading) ?? []
  for (const { message, line = 1 } of reading.problems) fields.failAt(line, message)
  if (reading.problems.length > 0 || server === undefined) return undefined
  try {
    readServer(server)
  } catch (error) {
    return fields.fail(messageOf(error), fields.named('url', 'command'))
  }
  return server
}

function withoutVariables(value: unknown, field: string, fields: FileFields): unknown {
  if (typeof value === 'string' && value.includes('${'))
    fields.fail(`${field} takes no variable: \${NAME} is replaced only in ${withSecrets.join(', ')}`, field)
  return value
}

/** Adds the line of the item, or else of the field that contains it. */
function placed(item: Item, field: string, fields: FileFields): Item {
  const line = fields.lineOf(field, item.name === field ? undefined : item.name)
  const span = { line, column: 1, offset: 0, end: 0 }
  if (item.type === 'block' || item.value.type !== 'object') return { ...item, span }
  const items = item.value.items.map((inner) => placed(inner, field, fields))
  return { ...item, span, value: { ...item.value, items } }
}
