import { insideSocket } from '../sandbox/bubblewrap.js'
import { nodeCertificates, relayPort } from './command-network.js'

/**
 * Wraps the command in a relay from a TCP port to the proxy's Unix socket, because few programs can use a socket as a
 * proxy. The relay runs in the host's Node binary, which is mounted at a fixed path inside, so it works wherever Node
 * is installed. Its start takes 25 ms of processor time, only for commands with network access. (Not available in a
 * host that is not plain Node, such as Electron.)
 *
 * `certificates` is the file of additional certificate authorities for the command. The relay does not have the
 * variable itself: Node reads the file at its start, which takes longer than the rest.
 */
export function relayed(argv: readonly string[], node: string, certificates: string | undefined): string[] {
  return [node, '-e', script, insideSocket, String(relayPort), certificates ?? '', ...argv]
}

const script = `
const net = require('node:net')
const { spawn } = require('node:child_process')
const [socket, port, certificates, file, ...args] = process.argv.slice(1)
const env = certificates === '' ? process.env : { ...process.env, ${nodeCertificates}: certificates }
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
  const child = spawn(file, args, { stdio: 'inherit', env })
  child.on('error', (error) => { console.error('capstan relay: ' + error.message); process.exit(127) })
  child.on('exit', (code, name) => process.exit(name === null ? code : 128 + require('node:os').constants.signals[name]))
})
`
