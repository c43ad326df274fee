import { load } from '../../session/journal/restore.js'
import type { SessionInfo } from '../../store/session-store.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { colorsFor } from '../terminal/colors.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'
import { timeText } from '../terminal/time-text.js'
import { cutTo } from '../terminal/width.js'
import { interruptedRun } from './interrupted-run.js'
import { mainSessions } from './main-sessions.js'
import { firstWords } from './message-text.js'
import { type OpenedStore, openSessionStore } from './open-session-store.js'

type Row = SessionInfo & {
  readonly prompt: string
  readonly messages?: number
  readonly interrupted?: true | undefined
  /** For the session of a subagent: the session that started it. */
  readonly parentId?: string | undefined
}

/**
 * Lists the sessions of this directory, or of all, newest first. Sessions of subagents are listed with `--subagents`;
 * sessions without messages are not listed.
 */
export async function listCommand(args: Args, io: Io): Promise<number> {
  const opened = await openSessionStore(args, io)
  const isWanted = ({ workspaceRoot }: SessionInfo): boolean =>
    args.has('all') || workspaceRoot === opened.workspace
  const found: SessionInfo[] = []
  const subagents = args.has('subagents')
  for await (const info of mainSessions(opened.store, isWanted, { subagents })) found.push(info)
  const shown = found.slice(0, args.count('limit') ?? 20)
  const rows: Row[] = []
  for (const info of shown) rows.push(await rowOf(opened, info))
  await opened.store.close?.()
  if (args.has('json')) {
    await write(io.stdout, rows.map((row) => `${safeJson(row)}\n`).join(''))
    return exitCodes.done
  }
  const { dim, bold, yellow } = colorsFor(io, 'stdout')
  if (rows.length === 0)
    await write(
      io.stderr,
      `No sessions${args.has('all') ? '' : ` in ${safeLine(opened.workspace)}. --all lists those of other directories`}.\n`,
    )
  for (const { id, updatedAtMs, workspaceRoot, prompt, interrupted, parentId } of rows) {
    const place =
      args.has('all') && workspaceRoot !== undefined ? `  ${dim(safeLine(workspaceRoot, 60))}` : ''
    const state = interrupted === true ? ` ${yellow('(interrupted)')}` : ''
    const of = parentId === undefined ? '' : ` ${dim(`(subagent of ${safeLine(parentId, 60)})`)}`
    const line = `${bold(safeLine(id))}  ${dim(timeText(updatedAtMs))}${place}${state}${of}  ${prompt}`
    await write(io.stdout, `${io.isTTY.stdout ? cutTo(line, io.columns()) : line}\n`)
  }
  if (found.length > rows.length)
    await write(io.stderr, dim(`… and ${found.length - rows.length} more (use --limit)\n`))
  return exitCodes.done
}

/** Returns the row of a session. A session that cannot be read is listed with the error. */
async function rowOf({ store }: OpenedStore, info: SessionInfo): Promise<Row> {
  try {
    const state = await load(store, info.id)
    const messages = state?.messages.map(({ message }) => message) ?? []
    // The log can have a newer title than the list, which reads only the start and the end of a log.
    const { task, parentId, title = info.title } = state?.session ?? {}
    const cutOff = interruptedRun(state?.runs.values() ?? [])
    return {
      ...info,
      ...omitUndefined({ title }),
      prompt: title === undefined ? firstWords(messages, 80) : safeLine(title, 80),
      messages: messages.length,
      interrupted: cutOff === undefined ? undefined : true,
      parentId: task === undefined ? undefined : parentId,
    }
  } catch (error) {
    return { ...info, prompt: `(${safeLine(messageOf(error), 120)})` }
  }
}
