import { replaySession } from '../../session/replay/replay-session.js'
import { diffSessions, formatSessionDiff } from '../../store/diff-sessions.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'

import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { messageText } from './message-text.js'
import { findSession, loadSession, openSessionStore } from './open-session-store.js'

/** Runs a session again from its log, offline and without effects, up to the first difference. */
export async function replayCommand(args: Args, io: Io): Promise<number> {
  const { store } = await openSessionStore(args, io)
  const state = await loadSession(store, await findSession(store, args.positionals[0]))
  await store.close?.()
  const colors = colorsFor(io, 'stdout')
  const options = omitUndefined({ signal: io.signal, from: args.value('at') })
  let code: number = exitCodes.done
  for await (const step of replaySession(state, options)) {
    if (args.has('json')) await write(io.stdout, `${safeJson(step)}\n`)
    else if (step.type === 'message') await write(io.stdout, `${messageText(step.message, colors)}\n\n`)
    else if (step.type === 'end') await write(io.stderr, `No difference in ${step.messages} messages.\n`)
    if (step.type !== 'difference') continue
    code = exitCodes.failed
    if (!args.has('json')) await write(io.stderr, `${safeText(step.difference.words)}\n`)
  }
  return code
}

/** Compares two sessions. Like `diff`, exits with 1 when they differ. */
export async function diffCommand(args: Args, io: Io): Promise<number> {
  const hint = 'Usage: capstan sessions diff ID ID'
  const [left, right] = [args.required(0, 'ID', hint), args.required(1, 'ID', hint)]
  const { store } = await openSessionStore(args, io)
  const a = await loadSession(store, await findSession(store, left))
  const b = await loadSession(store, await findSession(store, right))
  await store.close?.()
  const diff = diffSessions(a, b)
  await write(io.stdout, args.has('json') ? `${safeJson(diff)}\n` : `${safeText(formatSessionDiff(diff))}\n`)
  return diff.same ? exitCodes.done : exitCodes.failed
}
