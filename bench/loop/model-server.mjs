// A server with canned answers, in a separate process: its cost counts for no contender. It speaks chat completions,
// streamed or whole, and as much of Gemini's wire as a library needs that speaks nothing else.
import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parallelCalls, searchAndCall } from './canned-calls.mjs'
import { chunk, says, usage } from './chunks.mjs'
import { geminiEvents } from './gemini-wire.mjs'

/**
 * The path says what is answered: `/rounds-50/…` calls `read` until there are 50 results, `/rounds/…` until there are as many as the last
 * prompt asks for ("Read 50 files, please."), `/deltas-20000/…` says so many pieces,
 * `/answer/…` a sentence, `/program-50/…` runs one program that makes those 50 calls, `/parallel-20/…` makes 20 calls in one answer,
 * `/search-437/…` calls a tool of many by its number, after a search where there is one; with `/at-once/` after it, a streamed answer is
 * sent in one piece. `taken` returns the requests and their bytes
 * since it was last asked, and when the first came.
 * @typedef {{ url: string, lastBody: () => Promise<string>, stop: () => void }} ModelServer
 */

/** @returns {Promise<ModelServer>} */
export async function startModelServer() {
  const child = fork(fileURLToPath(import.meta.url), ['serve'])
  const port = await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`the model server ended with ${code}`)))
  })
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    lastBody: async () => (await fetch(`${url}/last-body`)).text(),
    stop: () => child.kill(),
  }
}

/** What is read in round `number`: a file of its own, since the same call over and over is stopped. @param {number} number */
export function fileFor(number) {
  return `src/part-${number}.ts`
}

function serve() {
  let lastBody = Buffer.alloc(0)
  let answers = 0
  let taken = nothingTaken()
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      if (request.url === '/taken') {
        response.end(JSON.stringify(taken))
        taken = nothingTaken()
      } else response.end(lastBody)
      return
    }
    /** @type {Buffer[]} */
    const parts = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      lastBody = Buffer.concat(parts)
      if (taken.requests++ === 0) taken.firstAt = performance.timeOrigin + performance.now()
      taken.bytes += lastBody.length
      const [, plan = ''] = (request.url ?? '').split('/')
      const [kind, count] = plan.split('-')
      const id = `chatcmpl-${++answers}`
      // Each answer has an id of its own: there are libraries that take a second one with the same for the first, said
      // again.
      const named = (/** @type {string} */ event) => event.replace('chatcmpl-1', id)
      const wanted = { kind, count: Number(count ?? askedIn(lastBody)), body: lastBody }
      if (request.url?.includes('/v1beta/')) answerGemini(response, wanted, request.url.includes(':stream'))
      else if (lastBody.includes('"stream":true')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const lines = eventsFor(wanted).map((event) => `data: ${named(event)}\n\n`)
        // In one piece where instructions are counted: how often a stream is read then does not depend on the clock.
        const pieces = request.url?.includes('/at-once/') ? [lines.join('')] : lines
        for (const piece of pieces) response.write(piece)
        response.end('data: [DONE]\n\n')
      } else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(named(wholeOf(eventsFor(wanted))))
      }
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    const address = server.address()
    process.send?.(typeof address === 'object' ? address?.port : undefined)
  })
  process.once('disconnect', () => process.exit())
}

/** How many files the last prompt asks for. @param {Buffer} body */
function askedIn(body) {
  const at = body.lastIndexOf(' files, please.')
  return /\d+$/.exec(body.toString('latin1', Math.max(0, at - 10), Math.max(0, at)))?.[0]
}

function nothingTaken() {
  return { requests: 0, bytes: 0, firstAt: 0 }
}

/** @typedef {{ kind: string | undefined, count: number, body: Buffer }} Wanted */

/** @param {Wanted} wanted */
function eventsFor({ kind, count, body }) {
  if (kind === 'deltas') return cannedDeltas(count)
  if (kind === 'parallel') return resultsIn(body) === 0 ? parallelCalls(count, body) : sentence
  if (kind === 'search') return searchAndCall(count, body, resultsIn(body)) ?? sentence
  if (kind === 'program') return resultsIn(body) === 0 ? programOf(count) : sentence
  const done = kind === 'rounds' ? resultsIn(body) : 0
  return kind === 'rounds' && done < count ? callOf(done) : sentence
}

/** @param {import('node:http').ServerResponse} response @param {Wanted} wanted @param {boolean} stream */
function answerGemini(response, { kind, count, body }, stream) {
  const done = resultsIn(body, '"functionResponse"')
  const pieces = kind === 'deltas' ? count : 2
  const left = kind === 'rounds' && done < count ? 1 : kind === 'parallel' && done === 0 ? count : 0
  const calls = Array.from({ length: left }, (_, at) => ({
    id: `call_${done + at}`,
    file: fileFor(done + at),
  }))
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
  const events = geminiEvents({ calls, pieces, whole: !stream })
  if (!stream) response.end(events[0])
  else {
    for (const event of events) response.write(`data: ${event}\r\n\r\n`)
    response.end()
  }
}

/** @param {Buffer} body */
function resultsIn(body, mark = '"role":"tool"') {
  let found = 0
  for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + 1)) found++
  return found
}

/** The same answer in one piece. @param {readonly string[]} events */
function wholeOf(events) {
  let content = ''
  /** @type {{ id: string, type: string, function: { name: string, arguments: string } }[]} */
  const calls = []
  for (const event of events) {
    const delta = JSON.parse(event).choices[0]?.delta
    content += delta?.content ?? ''
    for (const { index, ...call } of delta?.tool_calls ?? []) {
      if (calls[index] === undefined) calls[index] = call
      else calls[index].function.arguments += call.function.arguments
    }
  }
  const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  return JSON.stringify({
    ...JSON.parse(usage),
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason }],
  })
}

const sentence = [
  chunk({ role: 'assistant', content: '' }),
  says('It is'),
  says(' done.'),
  chunk({}, 'stop'),
  usage,
]

/** @param {number} number */
function callOf(number) {
  const written = JSON.stringify({ file_path: fileFor(number) })
  const piece = (/** @type {string} */ text) =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })
  const start = {
    index: 0,
    id: `call_${number}`,
    type: 'function',
    function: { name: 'read', arguments: '' },
  }
  return [
    chunk({ role: 'assistant', content: null }),
    says('I look'),
    says(' at the next file.'),
    chunk({ tool_calls: [start] }),
    ...(written.match(/.{1,8}/g) ?? []).map(piece),
    chunk({}, 'tool_calls'),
    usage,
  ]
}

/** @param {number} count */
function programOf(count) {
  const files = JSON.stringify(Array.from({ length: count }, (_, at) => fileFor(at)))
  const source = `export default async function run(ctx) {
    let lines = 0
    for (const file of ${files}) lines += (await ctx.tool('read', { file_path: file })).output.split('\\n').length
    return { summary: lines + ' lines' }
  }`
  const args = JSON.stringify({ source, limits: { maxToolCalls: count } })
  const call = { index: 0, id: 'call_0', type: 'function', function: { name: 'program', arguments: args } }
  return [
    chunk({ role: 'assistant', content: null }),
    chunk({ tool_calls: [call] }),
    chunk({}, 'tool_calls'),
    usage,
  ]
}

/** @type {Map<number, string[]>} */
const deltas = new Map()
/** @param {number} count */
function cannedDeltas(count) {
  const known = deltas.get(count) ?? [
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: count }, (_, at) => says(`word${at % 1000} `)),
    chunk({}, 'stop'),
    usage,
  ]
  deltas.set(count, known)
  return known
}

if (process.argv[2] === 'serve') serve()
