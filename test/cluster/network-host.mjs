// @ts-nocheck: plain JavaScript, run as it is.
// Forwards TCP ports of the network namespace that it runs in to sockets in files. Started by network.test.ts with an
// order: [{ host, port, path }].
import { connect, createServer } from 'node:net'

const order = JSON.parse(process.argv[2])

for (const { host, port, path } of order) {
  const server = createServer((client) => {
    const upstream = connect(path)
    client.pipe(upstream)
    upstream.pipe(client)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise((resolve) => server.listen(port, host, resolve))
}
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
