import type { Session } from '../session/session.js'
import type { Principal } from './options.js'
import type { ServerCore } from './server-core.js'
import { eventStreamResponse, type ServerSentEvent } from './sse.js'

/**
 * Responds with an event stream about a session. The stream counts towards the limits of the caller and prevents the
 * session from being closed. `open` gets a signal that is aborted when the client or the server ends the stream.
 */
export function sessionStream(
  core: ServerCore,
  principal: Principal,
  session: Session,
  open: (signal: AbortSignal) => AsyncGenerator<ServerSentEvent, void, undefined>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const release = core.usage.take(principal, 'streams')
  const hold = core.pool.hold(session.sessionId)
  const closed = core.metrics.streamOpened()
  const leaving = new AbortController()
  return eventStreamResponse(open(AbortSignal.any([leaving.signal, core.stopping.signal])), {
    heartbeatMs: core.limits.heartbeatMs,
    signal: core.stopping.signal,
    headers,
    onClose: () => {
      leaving.abort()
      release()
      hold()
      closed()
    },
  })
}
