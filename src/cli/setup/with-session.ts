import { offlineModel } from '../../model/offline/offline-model.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { Args } from '../args.js'
import { type Io, write } from '../io.js'
import { safeLine } from '../terminal/safe-text.js'
import { prepare, warningsOf } from './prepare.js'

/** Opens a session without a model or a store, for commands that only use its tools; closes it after `work`. */
export async function withSession(
  args: Args,
  io: Io,
  work: (session: Session) => Promise<number>,
  options: SessionOptions = {},
): Promise<number> {
  const prepared = await prepare(args.with({ model: 'offline', store: 'none' }), io)
  try {
    const session = await prepared.open({ ...options, model: offlineModel() })
    for (const warning of warningsOf(prepared, session))
      await write(io.stderr, `warning: ${safeLine(warning, 500)}\n`)
    return await work(session)
  } finally {
    await prepared.close()
  }
}
