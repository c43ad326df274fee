// Round trips to the same small MCP server.
import { join } from 'node:path'

export const command = process.execPath
export const args = [join(import.meta.dirname, '../mcp/tiny-server.mjs')]

/** @param {() => Promise<unknown>} echo @param {() => unknown} close @returns {import('../peers/sides.mjs').OpenSide} */
export function echoes(echo, close) {
  return {
    async before() {
      const said = JSON.stringify(await echo())
      if (!said?.includes('Echo: hi')) throw new Error(`the server was heard as ${said?.slice(0, 200)}`)
    },
    async run({ times }) {
      for (let at = 0; at < times; at++) await echo()
    },
    close,
  }
}
