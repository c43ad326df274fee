import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { isRecord } from '../../tool/json.js'
import { UsageError } from '../errors.js'
import { localServers } from './known-models.js'

export type LocalServer = { readonly provider: string; readonly url: string }
export type LocalModel = LocalServer & { readonly model: string; readonly others: number }

const maxTextBytes = 8 * 1024 * 1024

/** The first server on loopback that lists a model, in the order of the servers; all are asked at once, and briefly. */
export async function findLocalModel(
  servers: readonly LocalServer[],
  timeoutMs = 400,
): Promise<LocalModel | undefined> {
  const asked = await Promise.all(servers.map((server) => modelsOf(server, timeoutMs)))
  return asked.find((found) => found !== undefined)
}

/** `CAPSTAN_LOCAL_MODELS`: `off`, or addresses on loopback instead of the usual ones. */
export function localServersOf(env: Readonly<Record<string, string | undefined>>): readonly LocalServer[] {
  const said = env['CAPSTAN_LOCAL_MODELS']?.trim()
  if (said === undefined || said === '') return localServers
  if (said === 'off') return []
  return said.split(',').map((text) => {
    const url = text.trim()
    if (!URL.canParse(url) || !isLoopback(new URL(url)))
      throw new UsageError(
        `CAPSTAN_LOCAL_MODELS holds ${JSON.stringify(url)}, which is no address on loopback.`,
        'Write "off", or addresses such as http://127.0.0.1:8000/v1 with commas between them.',
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
    // Something else listens there, or it is too busy to say: as if there were none.
    return undefined
  }
}

/** Most often nobody does, and that is known at once: nothing has to be loaded to ask. */
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
 * With Node's own client, which is there sooner than `fetch`. No redirect is followed: it was looked for on this machine, and nothing
 * leads away from it.
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
    if (text.length > maxTextBytes) throw new Error('it does not end')
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
