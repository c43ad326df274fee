import { offlineModel } from '../../model/offline/index.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { Args } from '../args.js'
import { type Io, write } from '../io.js'
import { safeLine } from '../terminal/safe-text.js'
import { prepare } from './prepare.js'

/** Opens a session that no model is asked in and that is kept nowhere, for commands that use its tools; closes it behind the work. */
export async function withSession(
  args: Args,
  io: Io,
  work: (session: Session) => Promise<number>,
  options: SessionOptions = {},
): Promise<number> {
  const prepared = await prepare(args.with({ model: 'offline', store: 'none' }), io)
  try {
    for (const warning of prepared.warnings) await write(io.stderr, `warning: ${safeLine(warning, 500)}\n`)
    const session = await prepared.open({ ...options, model: offlineModel() })
    return await work(session)
  } finally {
    await prepared.close()
  }
}
