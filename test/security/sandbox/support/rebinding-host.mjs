// A host in a network of its own, where a public address belongs to this machine and the test answers names.
// node rebinding-host.mjs COMPILED_DIRECTORY PUBLIC_ADDRESS     requests as lines of standard input
import { createSocket } from 'node:dgram'
import { mkdirSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [directory = '', publicAddress = ''] = process.argv.slice(2)
const { openWorkspace } = await import(pathToFileURL(join(directory, 'workspace/index.js')).href)

/** @type {import('./rebinding.js').RebindingRequest['names']} */
let names = {}
/** @type {string[]} */
let asked = []
/** @type {string[]} */
let served = []

// Answers each question for a name with the next of its addresses, and then with the last one.
const dns = createSocket('udp4', (query, { port, address }) => dns.send(answerTo(query), port, address))
await new Promise((resolve) => dns.bind(53, '127.0.0.1', () => resolve(undefined)))
for (const [address, who] of [
  [publicAddress, 'public'],
  ['127.0.0.1', 'private'],
]) {
  const server = createServer((incoming, response) => {
    served.push(`${who} ${incoming.headers.host}${incoming.url}`)
    const away = incoming.url === '/to-private' ? { location: 'http://127.0.0.1/secret' } : {}
    response.writeHead('location' in away ? 302 : 200, { connection: 'close', ...away })
    response.end(`answer of the ${who} server\n`)
  })
  await new Promise((resolve) => server.listen(80, address, () => resolve(undefined)))
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  names = request.names
  asked = []
  served = []
  const outputs = await serve(request)
  writeSync(1, `${JSON.stringify({ outputs, served, asked })}\n`)
}
process.exit(0)

/** @param {import('./rebinding.js').RebindingRequest} request */
async function serve({ backend, place, allowHosts, allowPrivate, commands }) {
  mkdirSync(join(place, 'work'), { recursive: true })
  const workspace = openWorkspace({
    root: join(place, 'work'),
    ledgerDir: join(place, 'ledger'),
    scratchDir: join(place, 'scratch'),
    sandbox: 'required',
    sandboxOptions: { backend },
    network: { allowHosts, allowPrivate },
  })
  const outputs = []
  for (const command of commands) {
    const { output, blocked } = await workspace.shell.run(command, { timeoutMs: 60_000 })
    outputs.push([output, ...blocked].join('\n'))
  }
  await workspace.close()
  return outputs
}

/** @param {Buffer} query */
function answerTo(query) {
  const labels = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  const end = at + 5
  const type = query.readUInt16BE(at + 1)
  const name = labels.join('.').toLowerCase()
  const script = names[name]
  const records = type !== 1 || script === undefined ? [] : recordsOf(nextOf(name, script))
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(script === undefined ? 0x8183 : 0x8180, 2)
  for (const [place, count] of [
    [4, 1],
    [6, records.length],
    [8, 0],
    [10, 0],
  ])
    header.writeUInt16BE(count ?? 0, place)
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

/**
 * @param {string} name
 * @param {readonly (readonly string[])[]} script
 */
function nextOf(name, script) {
  const times = asked.filter((each) => each === name).length
  asked.push(name)
  return script[Math.min(times, script.length - 1)] ?? []
}

/** @param {readonly string[]} values Addresses, or one `cname:NAME` in front of them. */
function recordsOf(values) {
  let owner = Buffer.from([0xc0, 0x0c])
  return values.map((value) => {
    const target = value.startsWith('cname:') ? wireName(value.slice(6)) : undefined
    const data = target ?? Buffer.from(value.split('.').map(Number))
    const fixed = Buffer.alloc(10)
    fixed.writeUInt16BE(target === undefined ? 1 : 5, 0)
    fixed.writeUInt16BE(1, 2)
    fixed.writeUInt16BE(data.length, 8)
    const record = Buffer.concat([owner, fixed, data])
    if (target !== undefined) owner = target
    return record
  })
}

/** @param {string} name */
function wireName(name) {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])
}
