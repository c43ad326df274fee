import type { CommandEntry } from './command.js'
import { commandTable } from './command-table.js'
import { exitCodes } from './exit-codes.js'
import { type Io, write } from './io.js'

/** The whole command: reads what it was called with, does it, and gives the exit code. Never throws. */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io)
  } catch (error) {
    const { describeFailure } = await import('./failure.js')
    const { text, exitCode } = describeFailure(error, io)
    // Whoever stopped reading (`capstan sessions replay | head`) knows that it was not all.
    if (io.signal.reason !== 'SIGPIPE') await write(io.stderr, text)
    const isTold = io.signal.reason === 'SIGTERM' || io.signal.reason === 'SIGHUP'
    return exitCode === exitCodes.cancelled && isTold ? exitCodes.terminated : exitCode
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<number> {
  const [first = 'chat', ...rest] = argv
  if (first === '--version' || first === '-V') {
    const { packageVersion } = await import('./version.js')
    await write(io.stdout, `${packageVersion()}\n`)
    return exitCodes.done
  }
  if (first === '--help' || first === '-h' || first === 'help') return help(rest[0], io)
  // Options without a name before them are those of the interactive session.
  if (first.startsWith('-')) return call('chat', argv, io)
  return call(first, rest, io)
}

async function call(name: string, argv: readonly string[], io: Io): Promise<number> {
  const entry = await entryFor(name)
  const asksForHelp = beforeTheEnd(argv).some((arg) => arg === '--help' || arg === '-h')
  if (asksForHelp) return help(name, io)
  const [command, { readArgs }] = await Promise.all([entry.load(), import('./args.js')])
  return command.run(readArgs(argv, command.options), io, commandTable)
}

async function help(name: string | undefined, io: Io): Promise<number> {
  const { commandHelp, generalHelp } = await import('./help.js')
  if (name === undefined || name.startsWith('-')) await write(io.stdout, generalHelp())
  else {
    const entry = await entryFor(name)
    await write(io.stdout, commandHelp(entry, await entry.load()))
  }
  return exitCodes.done
}

async function entryFor(name: string): Promise<CommandEntry> {
  const entry = commandTable.find((each) => each.name === name)
  if (entry !== undefined) return entry
  const [{ UsageError }, { nearestNames, quoteNames }] = await Promise.all([
    import('./errors.js'),
    import('../tool/nearest.js'),
  ])
  const names = commandTable.map((each) => each.name)
  const near = nearestNames(name, names)
  throw new UsageError(
    `There is no command ${JSON.stringify(name)}.`,
    near.length > 0
      ? `Did you mean ${quoteNames(near)}? A prompt is given with: capstan run "…"`
      : `There are: ${names.join(', ')}. A prompt is given with: capstan run "…"`,
  )
}

/** What stands behind `--` is no option. */
function beforeTheEnd(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return end < 0 ? argv : argv.slice(0, end)
}
