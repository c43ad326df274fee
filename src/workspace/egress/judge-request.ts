import type { IncomingHttpHeaders } from 'node:http'
import type { Target } from './admission.js'
import type { Refusal } from './network-request.js'

/** A request as parsed by the proxy. */
export type RequestHead = {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

/** Returns why a request to an allowed host is refused; `undefined` when it is allowed. */
export function judgeRequest(
  target: Pick<Target, 'host' | 'port' | 'readOnly'>,
  request: RequestHead,
  gitFetch: boolean,
): Refusal | undefined {
  const { host, port } = target
  const { method, headers } = request
  if (/(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? ''))
    return { refused: 'upgrade_refused', host, port }
  // A CONNECT inside a connection could reach a host that was not checked.
  if (method === 'CONNECT') return { refused: 'protocol_refused', host, port }
  if (!target.readOnly || (gitFetch && isGitFetch(request))) return undefined
  const what = readOnlyObjection(request)
  return what === undefined ? undefined : { refused: 'read_only', host, port, rule: 'readOnly', detail: what }
}

/** Whether git requests objects: the only POST of `git fetch` and `git clone`. It changes nothing on the server. */
export function isGitFetch({ method, path, headers }: RequestHead): boolean {
  const [place = ''] = path.split('?')
  return (
    method === 'POST' &&
    place.endsWith('/git-upload-pack') &&
    headers['content-type'] === 'application/x-git-upload-pack-request' &&
    overrides(headers) === undefined
  )
}

function readOnlyObjection({ method, headers }: RequestHead): string | undefined {
  if (method !== 'GET' && method !== 'HEAD') return method
  const override = overrides(headers)
  if (override !== undefined) return `${method} with ${override}`
  const hasBody = headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '')
  return hasBody ? `${method} with a body` : undefined
}

/** Returns a header that makes some servers use another method. Many servers read `_` in a name as `-`. */
function overrides(headers: IncomingHttpHeaders): string | undefined {
  return Object.keys(headers).find((name) => /^x[-_](?:http[-_])?method(?:[-_]override)?$/.test(name))
}
