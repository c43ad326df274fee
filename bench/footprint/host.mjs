// A host whose session has processes: a command, one that left its group, and an MCP server. Says when they run, and
// waits to be killed.
import { join } from 'node:path'
import { Agent } from 'capstan'

const [root = '', word = '', sandbox = 'off'] = process.argv.slice(2)
const agent = await Agent.create({}, { userDir: join(root, 'user'), env: {} })
const options = {
  permissionPolicy: { allow: ['*'] },
  sandbox: sandbox === 'auto' ? /** @type {const} */ ('auto') : /** @type {const} */ ('off'),
}
const session = agent.session(root, options)
const waiting = `${process.execPath} -e "setInterval(() => {}, 1000)" ${word}`
const running = session.tool('bash', { command: `${waiting} & setsid ${waiting} & echo begun; wait` })
running.catch((error) => console.error(error))
await session.addMcp({
  name: 'tiny',
  command: process.execPath,
  args: [join(import.meta.dirname, '../mcp/tiny-server.mjs'), word],
})
setInterval(() => undefined, 1_000)
process.send?.('ready')
