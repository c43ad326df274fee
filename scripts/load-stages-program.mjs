// A program with one agent, which prints the files that it has loaded by the end of each stage.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const place = process.argv[2] ?? ''
const loaded = createRequire(import.meta.url).cache
const seen = new Set()
/** @type {Record<string, string[]>} */
const stages = {}
/** @param {string} name */
function endStage(name) {
  const files = Object.keys(loaded).filter((file) => !seen.has(file))
  for (const file of files) seen.add(file)
  stages[name] = files
    .map((file) => basename(file))
    .filter((file) => !/^[^~]*-entry\.cjs$|^scripts\.cjs$/.test(file))
}

const workspace = join(place, 'workspace')
mkdirSync(workspace)
writeFileSync(join(workspace, 'notes.txt'), 'One line.\n')

/** @param {unknown} delta @param {string} [reason] */
const event = (delta, reason) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason ?? null }] })}\n\n`
const text = event({ content: 'Done.' }) + event({}, 'stop')
const call = { name: 'read', arguments: JSON.stringify({ file_path: 'notes.txt' }) }
const calls =
  event({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: call }] }) + event({}, 'tool_calls')
const answers = [text, calls, text]
const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`${answers.shift()}data: [DONE]\n\n`)
})
await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)))
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined

/** @type {typeof import('capstan')} */
const { Agent, FileSessionStore } = await import(pathToFileURL(join(place, 'dist/index.js')).href)
endStage('on-import')
const agent = await Agent.create(
  {
    defaultModel: 'host/m',
    providers: { host: { baseUrl: `http://127.0.0.1:${port}/v1`, models: { m: {} } } },
  },
  { userDir: join(place, 'user') },
)
agent.session(workspace)
endStage('on-session')
// With the options of a careful host: a record, rules and a hook.
const session = agent.session(workspace, {
  sessionStore: new FileSessionStore(join(place, 'sessions')),
  permissionPolicy: { deny: ['write(**/.env*)'], ask: ['bash(git push*)'], allow: ['read(*)'] },
  hooks: [{ id: 'watch', event: 'pre_tool_use', handler: () => undefined }],
})
endStage('on-record')
await session.send('Answer.')
endStage('on-run')
await session.send('Read notes.txt.')
endStage('on-call')
await agent.close()
server.close()
console.log(JSON.stringify(stages))
