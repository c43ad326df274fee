import { insideSocket } from '../sandbox/bubblewrap.js'
import { relayPort } from './command-network.js'

/**
 * The command, under a relay from a TCP port to the proxy's Unix socket: few programs can use a socket as a proxy. The
 * relay is the Node that runs the host, shown inside at a place of its own, so it is there wherever Node is installed;
 * it takes some 40 ms to start, which only commands with a network pay. (A host that is not plain Node, such as
 * Electron, has none.)
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
  const child = spawn(file, args, { stdio: 'inherit' })
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => child.kill(name))
  child.on('error', (error) => { console.error('capstan relay: ' + error.message); process.exit(127) })
  child.on('exit', (code, name) => process.exit(name === null ? code : 128 + require('node:os').constants.signals[name]))
})
`
