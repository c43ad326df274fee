import { workspaceInLog } from '../../agent/workspace-root.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { Progress } from '../headless/progress.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { requireModel } from '../headless/require-model.js'
import { type Io, write } from '../io.js'
import { prepare, warningsOf } from '../setup/prepare.js'
import { safeText } from '../terminal/safe-text.js'
import { interruptedRun } from './interrupted-run.js'
import { findSession, loadSession, openSessionStore } from './open-session-store.js'

/** Resumes a session: with a prompt, with the run that was interrupted, or in the terminal. */
export async function resumeCommand(args: Args, io: Io): Promise<number> {
  const [given, ...words] = args.positionals
  const { store, userDir } = await openSessionStore(args, io)
  const id = await findSession(store, given)
  const state = await loadSession(store, id)
  await store.close?.()
  const recorded = state.session?.workspaceRoot
  const directory =
    args.value('directory') ?? (recorded === undefined ? undefined : workspaceInLog(id, recorded, userDir))
  const place = directory === undefined ? {} : { directory }
  const prompt = words.join(' ').trim()
  if (prompt !== '') {
    const { runHeadless } = await import('../headless/run-headless.js')
    return runHeadless(args.with({ session: id, ...place }), io, prompt, 'text')
  }
  if (args.has('run')) {
    const run = interruptedRun(state.runs.values())
    if (run === undefined)
      throw new CommandLineError('No run of this session was interrupted.', 'To resume it, give a prompt.')
    return resumeRun(args.with({ session: id, ...place }), io, run.id)
  }
  if (!io.isTTY.stdin || !io.isTTY.stdout)
    throw new UsageError(
      'An interactive session needs a terminal.',
      'Give a prompt, or --run to complete the run that was interrupted.',
    )
  const { command } = await import('../interactive/command.js')
  return command.run(args.with({ session: id, ...place }).after(args.positionals.length), io)
}

async function resumeRun(args: Args, io: Io, runId: string): Promise<number> {
  const prepared = await prepare(args, io)
  try {
    const refused = new RefusedAsks()
    const session = await prepared.open({ onAsk: refused.handler })
    requireModel(prepared, io)
    const progress = new Progress(io, args.has('quiet') ? 'quiet' : 'plain')
    for (const warning of warningsOf(prepared, session)) await progress.warn(warning)
    for (const note of prepared.notes) await progress.note(note)
    const stop = (): void => void session.cancel()
    io.signal.addEventListener('abort', stop, { once: true })
    const { text } = await session.resumeRun(runId)
    io.signal.removeEventListener('abort', stop)
    await write(io.stdout, `${safeText(text).trimEnd()}\n`)
    if (refused.calls.length === 0) return exitCodes.done
    await write(io.stderr, `${refused.report()}\n`)
    return exitCodes.incomplete
  } finally {
    await prepared.close()
  }
}
