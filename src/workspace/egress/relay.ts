import { insideSocket } from '../sandbox/bubblewrap.js'
import { relayPort } from './command-network.js'

/**
 * Wraps the command in a relay from a TCP port to the proxy's Unix socket, because few programs can use a socket as a
 * proxy. The relay runs in the host's Node binary, which is mounted at a fixed path inside, so it works wherever Node
 * is installed. It takes about 40 ms to start, only for commands with network access. (Not available in a host that is
 * not plain Node, such as Electron.)
 */
export function relayed(argv: readonly string[], node: string): string[] {
  return [node, '-e', script, insideSocket, String(relayPort), ...argv]
}

const script = `
const net = require('node:net')
const { spawn } = require('node:child_process')
const [socket, port, file, ...args] = process.argv.slice(1)
const server = net.createServer({ allowHalfOpen: true }, (client) => {
  const out = net.connect({ path: socket, allowHalfOpen: true })
  client.pipe(out)
  out.pipe(client)
  const end = () => { client.destroy(); out.destroy() }
  client.on('error', end)
  out.on('error', end)
})
server.on('error', (error) => { console.error('capstan relay: ' + error.message); process.exit(126) })
server.listen(Number(port), '127.0.0.1', () => {
  // A signal that asks to end goes to every process of the command: the relay passes none on, and ends with its child.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {})
  const child = spawn(file, args, { stdio: 'inherit' })
  child.on('error', (error) => { console.error('capstan relay: ' + error.message); process.exit(127) })
  child.on('exit', (code, name) => process.exit(name === null ? code : 128 + require('node:os').constants.signals[name]))
})
`
