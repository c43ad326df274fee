import { Agent } from '../../agent/agent.js'
import { offlineModel } from '../../model/offline/offline-model.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { safeLine } from '../terminal/safe-text.js'
import { findSession, openSessionStore } from './open-session-store.js'

/** Removes sessions permanently. */
export async function removeCommand(args: Args, io: Io): Promise<number> {
  args.required(0, 'ID', 'Usage: capstan sessions rm ID …')
  const { store } = await openSessionStore(args, io)
  // Every id is resolved before the first session is removed.
  const ids: string[] = []
  for (const given of args.positionals) ids.push(await findSession(store, given))
  for (const id of ids) {
    if (!(await store.delete(id)))
      throw new CommandLineError(`The session ${JSON.stringify(id)} is already removed.`)
    await write(io.stdout, `removed ${safeLine(id)}\n`)
  }
  await store.close?.()
  return exitCodes.done
}

/** Copies a session, up to its end or to a message. */
export async function forkCommand(args: Args, io: Io): Promise<number> {
  const { store, userDir } = await openSessionStore(args, io)
  const id = await findSession(store, args.positionals[0])
  const agent = await Agent.create({}, { env: io.env, cwd: io.cwd, userDir })
  try {
    const fork = await agent.forkSession(id, {
      sessionStore: store,
      // No request is sent, and the session's own model may be missing in this configuration.
      model: offlineModel(),
      ...omitUndefined({ fromMessageId: args.value('at') }),
    })
    await fork.save()
    await write(io.stdout, `${safeLine(fork.sessionId)}\n`)
  } finally {
    await agent.close()
    await store.close?.()
  }
  return exitCodes.done
}
