import { insideSocket } from './bubblewrap.js'

/** Inside a sandbox the loopback interface belongs to the command alone, so the port can always be the same. */
const port = 3128
const proxy = `http://127.0.0.1:${port}`

/** The variables that name the proxy. There are two spellings, and programs know one or the other. */
export const proxyVariables: Readonly<Record<string, string>> = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
}

/**
 * The command, under a relay from a TCP port to the proxy's Unix socket: few programs can use a socket as a proxy. The
 * relay is the Node that runs the host, shown inside at a place of its own, so it is there wherever Node is installed;
 * it takes some 40 ms to start, which only commands with a network pay. (A host that is not plain Node, such as
 * Electron, has none.)
 */
export function relayed(argv: readonly string[], node: string): string[] {
  return [node, '-e', script, insideSocket, String(port), ...argv]
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
