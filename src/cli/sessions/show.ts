import type { Args } from '../args.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'
import { timeText } from '../terminal/time-text.js'
import { messageText } from './message-text.js'
import { findSession, loadSession, openSessionStore } from './open-session-store.js'

/** Prints the messages of a session. */
export async function showCommand(args: Args, io: Io): Promise<number> {
  const { store } = await openSessionStore(args, io)
  const id = await findSession(store, args.positionals[0])
  const state = await loadSession(store, id)
  await store.close?.()
  const visible = state.messages.filter(({ hidden }) => !hidden)
  if (args.has('json')) {
    const messages = visible.map(({ id: messageId, message, row }) => ({
      messageId,
      at: row.createdAtMs,
      ...message,
    }))
    await write(
      io.stdout,
      `${safeJson({ ...state.session, id, runs: [...state.runs.values()], messages }, 2)}\n`,
    )
    return exitCodes.done
  }
  const colors = colorsFor(io, 'stdout')
  const { session, runs, damage } = state
  const facts = [
    `session  ${safeLine(id)}`,
    ...(session?.workspaceRoot === undefined ? [] : [`in       ${safeLine(session.workspaceRoot, 400)}`]),
    ...(session?.model === undefined
      ? []
      : [`model    ${safeLine(`${session.model.provider}/${session.model.id}`)}`]),
    `changed  ${timeText(session?.updatedAtMs)} UTC`,
    ...(session?.mode == null ? [] : [`mode     ${safeLine(session.mode)}`]),
    ...(damage === undefined ? [] : [`damage   ${safeLine(damage, 400)}`]),
    ...[...runs.values()].map(
      (run) => `run      ${safeLine(run.id)}  ${run.status}  ${safeLine(run.prompt, 60)}`,
    ),
  ]
  await write(io.stdout, `${colors.dim(facts.join('\n'))}\n`)
  for (const { id: messageId, message } of visible)
    await write(
      io.stdout,
      `\n${messageText(message, colors)}\n${message.role === 'user' ? `${colors.dim(`  ${safeLine(messageId)}`)}\n` : ''}`,
    )
  return exitCodes.done
}
