import type { McpServerOptions } from '../mcp/server-options.js'
import type { Params } from './method.js'
import { objectsIn, textIn, textsIn } from './params.js'
import { invalidParams } from './rpc-error.js'

/** Reads the MCP servers that the client sends. Their calls pass the gate like all others. */
export function mcpServersIn(params: Params): readonly McpServerOptions[] {
  return objectsIn(params, 'mcpServers').map((given) => {
    const name = textIn(given, 'name')
    switch (given['type']) {
      case undefined:
      case 'stdio':
        return {
          name,
          transport: 'stdio',
          command: textIn(given, 'command'),
          args: textsIn(given, 'args'),
          env: pairsIn(given, 'env'),
        }
      case 'http':
      case 'sse':
        return {
          name,
          transport: given['type'],
          url: textIn(given, 'url'),
          headers: pairsIn(given, 'headers'),
        }
      default:
        throw invalidParams(`The MCP server ${JSON.stringify(name)} has an unknown type.`)
    }
  })
}

function pairsIn(given: Params, field: string): Record<string, string> {
  return Object.fromEntries(
    objectsIn(given, field).map((pair) => {
      const { value } = pair
      if (typeof value !== 'string') throw invalidParams(`${field} needs names and values.`)
      return [textIn(pair, 'name'), value]
    }),
  )
}
