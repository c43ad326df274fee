import { explainCall } from '../../session/explain-call.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { withSession } from '../setup/with-session.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { readArguments } from './read-arguments.js'

/** Prints the verdict of the rules about a call of the model, which is also the exit code. Nothing is run. */
export async function explainCommand(args: Args, io: Io): Promise<number> {
  const name = args.required(0, 'TOOL', '"capstan tools list" lists the tools.')
  const given = readArguments(args.positionals.slice(1))
  return withSession(args, io, async (session) => {
    const { action, text } = await explainCall(session, name, given).catch((error: unknown) => {
      throw error instanceof TypeError ? new UsageError(error.message) : error
    })
    await write(
      io.stdout,
      args.has('json') ? `${safeJson({ tool: name, action, text })}\n` : `${safeText(text)}\n`,
    )
    return { allow: exitCodes.done, ask: exitCodes.incomplete, deny: exitCodes.failed }[action]
  })
}
