import { replaySession } from '../../session/replay/replay-session.js'
import { diffSessions, formatSessionDiff } from '../../store/diff-sessions.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { messageText } from './message-text.js'
import { findSession, loadSession, openSessionStore } from './open-session-store.js'

/** Runs a session again from its own log, offline and without touching anything, up to the first difference. */
export async function replayCommand(args: Args, io: Io): Promise<number> {
  const { store } = await openSessionStore(args, io)
  const state = await loadSession(store, await findSession(store, args.positionals[0]))
  await store.close?.()
  const colors = colorsFor(io, 'stdout')
  const from = args.value('at')
  let code: number = exitCodes.done
  for await (const step of replaySession(state, { signal: io.signal, ...(from !== undefined && { from }) })) {
    if (args.has('json')) await write(io.stdout, `${safeJson(step)}\n`)
    else if (step.type === 'message') await write(io.stdout, `${messageText(step.message, colors)}\n\n`)
    else if (step.type === 'end') await write(io.stderr, `The same: ${step.messages} messages.\n`)
    if (step.type !== 'difference') continue
    code = exitCodes.failed
    if (!args.has('json')) await write(io.stderr, `${safeText(step.difference.words)}\n`)
  }
  return code
}

/** Two sessions side by side. The exit code tells whether they are the same, as that of `diff` does. */
export async function diffCommand(args: Args, io: Io): Promise<number> {
  const [left, right] = args.positionals
  if (left === undefined || right === undefined) throw new UsageError('Which two sessions? Give both ids.')
  const { store } = await openSessionStore(args, io)
  const a = await loadSession(store, await findSession(store, left))
  const b = await loadSession(store, await findSession(store, right))
  await store.close?.()
  const diff = diffSessions(a, b)
  await write(io.stdout, args.has('json') ? `${safeJson(diff)}\n` : `${safeText(formatSessionDiff(diff))}\n`)
  return diff.same ? exitCodes.done : exitCodes.failed
}
