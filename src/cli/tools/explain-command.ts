import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { withSession } from '../setup/with-session.js'
import { safeJson, safeText } from '../terminal/safe-text.js'
import { explainCall } from './explain-call.js'
import { readArguments } from './read-arguments.js'

/** Explains what the rules of a session here say of a model's call; its exit code says the verdict. Nothing is run. */
export async function explainCommand(args: Args, io: Io): Promise<number> {
  const [name, ...words] = args.positionals
  if (name === undefined) throw new UsageError('Which tool?', '"capstan tools list" has them.')
  const given = readArguments(words)
  return withSession(args, io, async (session) => {
    const { action, text } = await explainCall(session, name, given)
    await write(
      io.stdout,
      args.has('json') ? `${safeJson({ tool: name, action, text })}\n` : `${safeText(text)}\n`,
    )
    return { allow: exitCodes.done, ask: exitCodes.incomplete, deny: exitCodes.failed }[action]
  })
}
