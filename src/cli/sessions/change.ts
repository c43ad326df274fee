import { Agent } from '../../agent/agent.js'
import { offlineModel } from '../../model/offline/index.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeLine } from '../terminal/safe-text.js'
import { findSession, openSessionStore } from './open-session-store.js'

/** Removes sessions for good. */
export async function removeCommand(args: Args, io: Io): Promise<number> {
  if (args.positionals.length === 0) throw new UsageError('Which sessions? Give their ids.')
  const { store } = await openSessionStore(args, io)
  // All are found before the first is gone.
  const ids: string[] = []
  for (const given of args.positionals) ids.push(await findSession(store, given))
  for (const id of ids) {
    if (!(await store.delete(id)))
      throw new CommandLineError(`The session ${JSON.stringify(id)} is gone already.`)
    await write(io.stdout, `removed ${safeLine(id)}\n`)
  }
  await store.close?.()
  return exitCodes.done
}

/** Another session with what was said in one, up to its end or a message. */
export async function forkCommand(args: Args, io: Io): Promise<number> {
  const { store, userDir } = await openSessionStore(args, io)
  const id = await findSession(store, args.positionals[0])
  const fromMessageId = args.value('at')
  const agent = await Agent.create({}, { env: io.env, cwd: io.cwd, userDir })
  try {
    const fork = await agent.forkSession(id, {
      sessionStore: store,
      // It is asked nothing; the one that the session had may not be configured here.
      model: offlineModel(),
      ...(fromMessageId !== undefined && { fromMessageId }),
    })
    await fork.save()
    await write(io.stdout, `${safeLine(fork.sessionId)}\n`)
  } finally {
    await agent.close()
    await store.close?.()
  }
  return exitCodes.done
}
