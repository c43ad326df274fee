import { isHeld } from '../../store/is-held.js'
import type { SessionStore } from '../../store/session-store.js'
import { SessionBusyError } from '../errors.js'
import { load, optionsToKeep } from '../journal/restore.js'
import type { SessionKernel } from '../kernel.js'
import type { SessionOptions } from '../options.js'
import { redactValue } from '../security/index.js'
import { addressOf } from '../session-log.js'
import type { ForkSource } from './fork.js'

/**
 * Returns an open session as the source of a fork, with the options that a fork inherits. Refused while a run is
 * active.
 */
export async function liveSource(
  kernel: SessionKernel,
): Promise<{ readonly source: ForkSource; readonly options: SessionOptions }> {
  const { sessionId, agentId, options: given } = kernel.setup
  const source = await kernel.alone('forking', async () => {
    const kept = (await kernel.log.recorder?.state())?.session ?? kernel.setup.restored?.session
    const { record } = kernel.redactor
    const order = await kernel.log.conversation.readAll()
    return {
      sessionId,
      order:
        record === undefined
          ? [...order]
          : order.map((one) => ({ ...one, message: redactValue(one.message, record) })),
      ...kernel.log.interrupted.open,
      session: {
        ...kept,
        id: sessionId,
        schemaVersion: 1,
        updatedAtMs: kernel.now(),
        agent: agentId,
        workspaceRoot: addressOf(kernel),
        options: kept?.options ?? optionsToKeep(given),
        mode: (await kernel.engine.mode()) ?? null,
        todos: kernel.plan.list(),
      },
    }
  })
  const { sessionId: _id, signal: _signal, mode: _mode, ...options } = given
  const model = source.session.options['model']
  return {
    source,
    // The session's model may have changed since it was opened.
    options: {
      ...options,
      ...(typeof model === 'string' && typeof options.model !== 'object' && { model }),
    },
  }
}

/**
 * Returns a stored session as the source of a fork; undefined when the store does not have it. Refused while another
 * process has an active run in it.
 */
export async function storedSource(
  store: SessionStore,
  sessionId: string,
  now: () => number,
): Promise<ForkSource | undefined> {
  const state = await load(store, sessionId)
  if (state === undefined) return undefined
  const atWork = [...state.runs.values()].some(({ status }) => status === 'running' || status === 'queued')
  // A run without a process that holds its session ended with its process.
  if (atWork && (await isHeld(store, sessionId, now))) throw new SessionBusyError(sessionId, 'forking')
  return { sessionId, ...state }
}
