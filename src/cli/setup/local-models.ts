import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { isRecord } from '../../tool/json.js'
import { UsageError } from '../errors.js'
import { localServers } from './known-models.js'

export type LocalServer = { readonly provider: string; readonly url: string }
export type LocalModel = LocalServer & { readonly model: string; readonly others: number }

const maxTextBytes = 8 * 1024 * 1024

/**
 * Returns the first server on loopback that lists a model, in the given order. All are queried at once, with a timeout.
 */
export async function findLocalModel(
  servers: readonly LocalServer[],
  timeoutMs = 400,
): Promise<LocalModel | undefined> {
  const asked = await Promise.all(servers.map((server) => modelsOf(server, timeoutMs)))
  return asked.find((found) => found !== undefined)
}

/** The servers to query. `CAPSTAN_LOCAL_MODELS` is `off`, or a list of URLs on loopback instead of the usual ones. */
export function localServersOf(env: Readonly<Record<string, string | undefined>>): readonly LocalServer[] {
  const said = env['CAPSTAN_LOCAL_MODELS']?.trim()
  if (said === undefined || said === '') return localServers
  if (said === 'off') return []
  return said.split(',').map((text) => {
    const url = text.trim()
    if (!URL.canParse(url) || !isLoopback(new URL(url)))
      throw new UsageError(
        `CAPSTAN_LOCAL_MODELS has ${JSON.stringify(url)}, which is not a URL on loopback.`,
        'Set it to "off", or to URLs such as http://127.0.0.1:8000/v1, separated by commas.',
      )
    return { provider: 'local', url }
  })
}

async function modelsOf(server: LocalServer, timeoutMs: number): Promise<LocalModel | undefined> {
  if (!(await isListening(new URL(server.url), timeoutMs))) return undefined
  try {
    const ids = modelIds(await readJson(`${server.url.replace(/\/+$/, '')}/models`, timeoutMs * 3))
    const [model] = ids
    return model === undefined ? undefined : { ...server, model, others: ids.length - 1 }
  } catch {
    // Another service uses the port, or the server is too slow, so it is ignored.
    return undefined
  }
}

/**
 * Checks for a listener with a plain connection, which fails at once on most machines, so that no HTTP client has to be
 * loaded.
 */
function isListening({ hostname, port }: URL, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? 80 : port) })
    const end = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(timeoutMs, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}

/**
 * Sends a request with Node's HTTP client, which loads faster than `fetch`, without redirects, so that no other machine
 * is contacted.
 */
async function readJson(url: string, timeoutMs: number): Promise<unknown> {
  const { get } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      signal: AbortSignal.timeout(timeoutMs),
      agent: false,
      headers: { accept: 'application/json' },
    }
    get(url, options, resolve).on('error', reject)
  })
  if (answer.statusCode !== 200) {
    answer.destroy()
    return undefined
  }
  let text = ''
  for await (const piece of answer.setEncoding('utf8')) {
    text += piece
    if (text.length > maxTextBytes) throw new Error('the answer is too long')
  }
  return JSON.parse(text)
}

function modelIds(listed: unknown): string[] {
  const data = isRecord(listed) && Array.isArray(listed['data']) ? listed['data'] : []
  return data
    .flatMap((entry: unknown) => (isRecord(entry) && typeof entry['id'] === 'string' ? [entry['id']] : []))
    .filter((id) => id !== '' && id.length <= 200 && !/embed|rerank|whisper/i.test(id))
}

function isLoopback({ protocol, hostname }: URL): boolean {
  const isHttp = protocol === 'http:' || protocol === 'https:'
  return isHttp && (hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname))
}
