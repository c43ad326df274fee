import { PassThrough } from 'node:stream'
// The command loads these with their first use. Compiling them would count against the time of the first test.
import '../../src/acp/serve-acp.js'
import '../../src/agent/child-session.js'
import '../../src/cli/commands/acp.js'
import '../../src/mcp/index.js'
import '../../src/program/index.js'
import '../../src/session/engine.js'
import '../../src/session/session.js'
import '../../src/store/file/file-session-store.js'
import '../../src/toolbox/index.js'
import '../../src/workspace/index.js'
import { onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import type { ModelScript, ServedRequest, ServedStep } from '../../src/testing/index.js'
import { isRecord } from '../../src/tool/json.js'
import { openPlace, type Place } from '../cli/drive.js'
import { schemaProblems } from './schema.js'

export type Wire = Readonly<Record<string, unknown>>
/** Answers what the agent asks of its client. A thrown error is an error response. */
export type ClientHandler = (method: string, params: Wire, id: number) => unknown

export type AcpPeer = {
  readonly place: Place
  /** Every message of the agent so far, checked against the official schema. */
  readonly received: Wire[]
  /** What the agent wrote that breaks the schema. */
  readonly problems: string[]
  /** The result of a request; rejects with `{ code, message, data }`. */
  request(method: string, params?: unknown): Promise<Wire>
  notify(method: string, params: unknown): void
  /** Writes a line as it is. */
  write(line: string): void
  /** The updates of a session so far. */
  updates(sessionId?: string): Wire[]
  /** Resolves with the first message that fits, now or later. */
  until(fits: (message: Wire) => boolean): Promise<Wire>
  /** Resolves when the model gets its request number `n`, from 0. */
  modelRequest(n: number): Promise<ServedRequest | undefined>
  /** Ends standard input; resolves with the exit code and standard error. */
  end(): Promise<{ readonly code: number; readonly stderr: string }>
}

export type PeerOptions = {
  readonly script?: ModelScript<ServedRequest, ServedStep>
  readonly flags?: readonly string[]
  readonly place?: Place
  readonly files?: Readonly<Record<string, string>>
  readonly onRequest?: ClientHandler
}

/** The command `capstan acp` in this process, with a client that checks everything it gets. */
export async function openAcp(options: PeerOptions = {}): Promise<AcpPeer> {
  const place = options.place ?? (await openPlace(options.files))
  const served = options.script === undefined ? undefined : await place.model(options.script)
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const exit = runCli(['acp', ...(served?.flags ?? []), ...(options.flags ?? [])], {
    stdin,
    stdout,
    stderr,
    env: place.env,
    cwd: place.root,
    isTTY: { stdin: false, stdout: false, stderr: false },
    columns: () => 80,
    signal: new AbortController().signal,
  })
  let said = ''
  stderr.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  const peer = connectPeer(stdin, stdout, place, options.onRequest)
  const end = async (): Promise<{ code: number; stderr: string }> => {
    stdin.end()
    return { code: await exit, stderr: said }
  }
  onTestFinished(async () => void (await end()))
  return { ...peer, end, modelRequest: async (n) => served?.server.request(n) }
}

/** A client on the two streams of an agent. */
export function connectPeer(
  input: NodeJS.WritableStream,
  output: NodeJS.ReadableStream,
  place: Place,
  onRequest: ClientHandler = () => {
    throw new Error('The client does not know this method.')
  },
): Omit<AcpPeer, 'end' | 'modelRequest'> {
  const received: Wire[] = []
  const problems: string[] = []
  const sent = new Map<unknown, { method: string; settle: (message: Wire) => void }>()
  const waiting = new Set<(message: Wire) => void>()
  const send = (message: object): void =>
    void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const answer = async (id: number, method: string, params: Wire): Promise<void> => {
    try {
      send({ id, result: await onRequest(method, params, id) })
    } catch (error) {
      send({ id, error: { code: -32603, message: String(error) } })
    }
  }
  const take = (line: string): void => {
    const message: unknown = JSON.parse(line)
    if (!isRecord(message)) throw new Error(`No object: ${line}`)
    const { id, method, params } = message
    const request = typeof method === 'string' ? undefined : sent.get(id)
    problems.push(...schemaProblems(message, request?.method))
    received.push(message)
    if (typeof method === 'string' && typeof id === 'number')
      void answer(id, method, isRecord(params) ? params : {})
    if (request !== undefined) sent.delete(id)
    request?.settle(message)
    for (const listener of waiting) listener(message)
  }
  let rest = ''
  output.setEncoding('utf8')
  output.on('data', (piece: string) => {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
  let lastId = 0
  return {
    place,
    received,
    problems,
    request: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++lastId
        sent.set(id, {
          method,
          settle: ({ result, error }) =>
            error === undefined ? resolve(isRecord(result) ? result : {}) : reject(error),
        })
        send({ id, method, params })
      }),
    notify: (method, params) => send({ method, params }),
    write: (line) => void input.write(`${line}\n`),
    updates: (sessionId) =>
      received.flatMap(({ method, params }) =>
        method === 'session/update' &&
        isRecord(params) &&
        isRecord(params['update']) &&
        (sessionId === undefined || params['sessionId'] === sessionId)
          ? [params['update']]
          : [],
      ),
    until: (fits) =>
      new Promise((resolve) => {
        const known = received.find(fits)
        if (known !== undefined) return resolve(known)
        const listener = (message: Wire): void => {
          if (!fits(message)) return
          waiting.delete(listener)
          resolve(message)
        }
        waiting.add(listener)
      }),
  }
}

/** Initializes and opens a session in the place of the peer. */
export async function newSession(
  peer: Pick<AcpPeer, 'request' | 'place'>,
  capabilities: object = {},
): Promise<string> {
  await peer.request('initialize', { protocolVersion: 1, clientCapabilities: capabilities })
  const { sessionId } = await peer.request('session/new', { cwd: peer.place.root, mcpServers: [] })
  return String(sessionId)
}

/** The prompt of a request with one text. */
export function promptOf(sessionId: string, text: string): object {
  return { sessionId, prompt: [{ type: 'text', text }] }
}

export function textOf(updates: readonly Wire[], kind = 'agent_message_chunk'): string {
  return updates
    .filter(({ sessionUpdate }) => sessionUpdate === kind)
    .map(({ content }) => (isRecord(content) && typeof content['text'] === 'string' ? content['text'] : ''))
    .join('')
}
