// Round trips to an MCP server over stdio. The server counts for no contender's CPU time, and for every one's wall time.
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, withSides } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function mcp(setting) {
  return withSides('mcp', setting, async (field) => {
    const times = setting.quick ? 100 : 500
    const options = {
      turns: setting.quick ? 3 : 15,
      warmUps: setting.quick ? 2 : 6,
      pieces: times,
      needs: 'echo',
    }
    const rows = await takeTurns(field, { what: 'echo', size: 1, times }, options)
    const says = 'One call of a tool of the same small server over stdio.'
    return {
      areas: [turnsArea('mcp', 'MCP round trips', says, rows)],
      targets: [
        {
          name: 'an MCP round trip through a session',
          unit: 'times the bare library',
          most: 2,
          found: measured(rows, 'capstan')?.ratio.median ?? Number.NaN,
        },
        ...againstPeers('an MCP round trip', rows),
      ],
    }
  })
}
